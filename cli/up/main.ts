import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningAgent } from '@rollcall/agent';
import { type RunningConsole, startConsole } from '@rollcall/console';
import { errorCatalogue, toRollcallError } from '@rollcall/shared/errors';
import { resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { consoleHub } from '../console/console-hub.ts';
import { findBinary } from './binaries.ts';
import { type EmbeddedHub, startEmbeddedHub } from './embedded-hub.ts';
import { startLocalAgent } from './local-agent.ts';
import { childFailed } from './process/child-process.ts';
import type { ServerCount } from './state/nats-servers-of.ts';
import { watchLoss } from './watch-loss.ts';

export interface UpOptions {
  readonly stateDir: string;
  readonly port?: number;
  /** NATS servers, at the first start. */
  readonly servers?: ServerCount;
  readonly advertise?: readonly string[];
  readonly websocket?: string | undefined;
  /** Where registration tokens count. Default: rollcall-join. */
  readonly tokenNamespaces?: readonly string[];
  /** Whether this very cluster is registered, as `local`. Default true. */
  readonly withAgent?: boolean;
}

const localName = 'local';
const readyWithinMs = 60_000;

function say(phase: string, message: string): void {
  process.stderr.write(`[${phase}] ${message}\n`);
}

/** @returns whether it became Ready in time: people may have shut it out, and need the hub to let it in again */
async function untilReady(hub: EmbeddedHub, name: string): Promise<'ready' | 'late'> {
  const deadlineMs = performance.now() + readyWithinMs;
  while (performance.now() < deadlineMs) {
    const cluster = await hub.admin.get<ManagedCluster>(resources.managedClusters, { name });
    const ready = cluster?.status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') return 'ready';
    await delay(50);
  }
  return 'late';
}

interface Signals {
  /** The first one, of the terminal or of a service manager. */
  readonly signalled: Promise<string>;
  /** It is being stopped for another reason: from here on the first one ends it at once, as the second one does always. */
  stopping(): void;
}

function hearSignals(): Signals {
  const { promise: signalled, resolve } = Promise.withResolvers<string>();
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve(signal);
    });
  return { signalled, stopping: () => void (isStopping = true) };
}

function sayLoss(loss: string | undefined, hubId: string): void {
  if (loss === undefined) say('up', 'the history is whole again');
  else say('up', `${loss}\n${errorCatalogue.HISTORY_LOST.hint}\nThis hub is "${hubId}".`);
}

function nextSteps(hub: EmbeddedHub, consoleLink: string | undefined): string {
  const path = join(hub.stateDir, 'kubeconfig');
  const fromHere = relative(process.cwd(), path);
  const kubeconfig = fromHere.startsWith('..') ? path : fromHere;
  // What is built has the command on its path, a checkout has it by npx.
  const isCheckout = import.meta.filename.endsWith('.ts');
  const [own, again] = isCheckout ? ['npx rollcall', 'npm start'] : ['rollcall', 'rollcall up'];
  return `
The hub is running. In another terminal:

  ${`${own} get clusters`.padEnd(59)}  what is registered
  ${`${own} events --follow`.padEnd(59)}  everything that happens, as it happens
  ${`${own} token create --print-register-command`.padEnd(59)}  let another cluster in
  kubectl --kubeconfig ${kubeconfig} get managedclusters.rollcall.dev
${consoleLink === undefined ? '' : `\nIn a browser of this machine, once:\n\n  ${consoleLink}\n`}
Ctrl-C stops it; \`${again}\` goes on from here; \`${own} down --wipe\` forgets everything.
`;
}

/**
 * `rollcall up`: a whole hub on this machine, with this very cluster registered, until a signal.
 * @returns the exit code
 */
export async function up(options: UpOptions): Promise<number> {
  const startedMs = performance.now();
  const seconds = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
  const { stateDir } = options;
  const { signalled, stopping } = hearSignals();
  const isFirst = !existsSync(join(stateDir, 'hub.json'));
  say('up', isFirst ? `making a new hub in "${stateDir}"` : `going on with the hub in "${stateDir}"`);
  const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
  broken.catch(() => undefined);
  await using hub = await startEmbeddedHub({
    stateDir,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.servers === undefined ? {} : { servers: options.servers }),
    ...(options.advertise === undefined ? {} : { advertise: options.advertise }),
    websocket: options.websocket,
    tokenNamespaces: options.tokenNamespaces,
    keepsNatsRunning: true,
    onProgress: (message) => say('up', message),
    onServiceFailed(name, why) {
      stopping();
      say('down', `${name} cannot go on; stopping everything else`);
      breakOff(why);
    },
    onUnexpectedExit(child, how) {
      stopping();
      say('down', `${child.name} ended (${how}) and does not stay; stopping everything else`);
      breakOff(childFailed(child, `ended (${how})`));
    },
  });
  await copyFile(hub.plane.adminKubeconfigPath, join(stateDir, 'kubeconfig'));
  say('up', `the hub listens on ${hub.addresses.join(', ')} (${seconds()})`);

  let agent: RunningAgent | undefined;
  let console: RunningConsole | undefined;
  const loss = watchLoss(hub.services, (why) => sayLoss(why, hub.hub.hubId));
  try {
    if (loss.lost() === undefined && (options.withAgent ?? true)) {
      agent = await startLocalAgent(hub, {
        clusterName: localName,
        onPhase: ({ phase, message }) => say(phase, message),
      });
      const early = await Promise.race([untilReady(hub, localName), loss.found, signalled, broken]);
      if (early === 'ready') say('ready', `cluster "${localName}" is Ready (${seconds()})`);
      if (early === 'late')
        say(
          'ready',
          `cluster "${localName}" is not Ready yet: \`rollcall describe cluster ${localName}\` says why`,
        );
    }
    if ((await Promise.race([hub.admissionInPlace(), signalled, broken])) === undefined) {
      say('up', `the admission policies are in place: the API server checks who decides (${seconds()})`);
    }
    await Promise.race([loss.untilCompared(readyWithinMs), signalled, broken]);
    // What is shown is of the history that is lost, and nothing of the next steps works.
    if (loss.lost() === undefined) {
      await showClusters(hub);
      console = await startConsoleOf(stateDir);
      process.stdout.write(nextSteps(hub, console?.link));
    }
    const signal = await Promise.race([signalled, broken]);
    say('down', `${signal}: stopping the agent, the services, NATS and Kubernetes`);
  } finally {
    loss.stop();
    await console?.[Symbol.asyncDispose]();
    await agent?.stop();
  }
  await hub.stop();
  say('down', 'stopped');
  return 0;
}

/** The hub runs without it, where its page was not built. */
async function startConsoleOf(stateDir: string): Promise<RunningConsole | undefined> {
  try {
    return await startConsole(consoleHub({ kubeconfig: join(stateDir, 'kubeconfig') }));
  } catch (thrown) {
    say('up', `no console: ${toRollcallError(thrown).message}`);
    return undefined;
  }
}

/** As the person's own kubectl would show them. */
async function showClusters(hub: EmbeddedHub): Promise<void> {
  const args = ['--kubeconfig', hub.plane.adminKubeconfigPath, 'get', 'managedclusters.rollcall.dev'];
  const { stdout } = await promisify(execFile)(findBinary('kubectl'), args);
  process.stdout.write(`\n${stdout}`);
}
