import { readFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { preferSmallFootprint } from '@rollcall/agent/low-memory-flags';

/*
 * One agent in a process of its own: what is measured. JavaScript, because it is copied beside the compiled agent, too.
 * Says what it does as JSON lines on stdout (`AgentLine`); ends with its stdin, so that it outlives no bench.
 */

/** @typedef {import('node:perf_hooks').PerformanceEntry & { detail?: { port?: number } }} ConnectEntry */

/** @param {string} step @param {string} message @param {number} [atMs] */
function say(step, message, atMs = performance.timeOrigin + performance.now()) {
  process.stdout.write(`${JSON.stringify({ step, message, atMs })}\n`);
}

/**
 * The runtime's own record of TCP connections: when connecting began.
 * @param {ReadonlySet<number>} hubPorts
 */
function watchConnections(hubPorts) {
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { name, startTime, detail } = /** @type {ConnectEntry} */ (entry);
      const port = detail?.port ?? 0;
      const step = hubPorts.has(port) ? 'tcp-hub' : 'tcp-member';
      if (name === 'connect') say(step, `connecting to port ${port}`, performance.timeOrigin + startTime);
    }
  });
  observer.observe({ entryTypes: ['net'] });
}

const [settingsPath = ''] = process.argv.slice(2);
// As `rollcall agent run` does, before anything of the agent is compiled.
preferSmallFootprint();
const { directoryKeyStore, runAgent } = await import('@rollcall/agent');
const { rollcallVersion } = await import('@rollcall/shared/service/version');
say('loaded', 'modules are loaded');
/** @type {import('./start-agent.ts').AgentSettings} */
const { storeDir, ...settings } = JSON.parse(readFileSync(settingsPath, 'utf8'));
watchConnections(new Set(settings.hub.map((address) => Number(address.split(':').at(-1)))));
await runAgent({
  ...settings,
  store: directoryKeyStore(storeDir),
  version: rollcallVersion,
  onPhase: ({ phase, message }) => say(phase, message),
});
process.stdin.once('end', () => process.exit(0));
process.stdin.resume();
