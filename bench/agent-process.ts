import { readFileSync } from 'node:fs';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { type AgentOptions, directoryKeyStore, runAgent } from '@rollcall/agent';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { nowMs } from './clock.ts';

/** What an agent of the bench is started with; the file holds its token, so it is 0600. */
export interface AgentSettings extends Pick<
  AgentOptions,
  'hub' | 'trust' | 'token' | 'clientId' | 'clusterName'
> {
  /** Plain data, as a pod has it, so that reading a kubeconfig is no part of what is measured. */
  readonly member: AgentOptions['member'];
  readonly storeDir: string;
}

/** One line of JSON each on stdout. */
export interface AgentLine {
  readonly step: string;
  readonly message: string;
  readonly atMs: number;
}

function say(step: string, message: string, atMs = nowMs()): void {
  const line: AgentLine = { step, message, atMs };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** The runtime's own record of TCP connections: when connecting began. */
type ConnectEntry = PerformanceEntry & { readonly detail?: { readonly port?: number } };

function watchConnections(hubPorts: ReadonlySet<number>): void {
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as ConnectEntry[]) {
      const port = Number(entry.detail?.port);
      const atMs = performance.timeOrigin + entry.startTime;
      if (entry.name === 'connect')
        say(hubPorts.has(port) ? 'tcp-hub' : 'tcp-member', `connecting to port ${port}`, atMs);
    }
  });
  observer.observe({ entryTypes: ['net'] });
}

const [settingsPath = ''] = process.argv.slice(2);
say('loaded', 'modules are loaded');
const { storeDir, ...settings } = JSON.parse(readFileSync(settingsPath, 'utf8')) as AgentSettings;
watchConnections(new Set(settings.hub.map((address) => Number(address.split(':').at(-1)))));
const agent = await runAgent({
  ...settings,
  store: directoryKeyStore(storeDir),
  version: rollcallVersion,
  onPhase: ({ phase, message }) => say(phase, message),
});

// The bench's end is ours: also when it is killed.
process.stdin.once('end', () => process.exit(0));
process.stdin.resume();
process.once('SIGTERM', () => void agent.stop().then(() => process.exit(0)));
