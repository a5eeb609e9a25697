import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningAgent } from '@rollcall/agent';
import { errorCatalogue, RollcallError } from '@rollcall/shared/errors';
import { resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { findBinary } from './binaries.ts';
import { endLeftovers } from './leftovers.ts';
import { type EmbeddedHub, startEmbeddedHub } from './embedded-hub.ts';
import { startLocalAgent } from './local-agent.ts';
import type { ServerCount } from './state/nats-servers-of.ts';
import { refuseForeign } from './state/refuse-foreign.ts';
import { stateHolder } from './state/state-lock.ts';

export interface UpOptions {
  readonly stateDir: string;
  readonly port?: number;
  /** NATS servers, at the first start. */
  readonly servers?: ServerCount;
  readonly advertise?: readonly string[];
  readonly websocket?: string | undefined;
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

/** A signal of the terminal or of a service manager; the second one ends at once. */
function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve(signal);
      });
    }
  });
}

function nextSteps(hub: EmbeddedHub): string {
  const path = join(hub.stateDir, 'kubeconfig');
  const fromHere = relative(process.cwd(), path);
  const kubeconfig = fromHere.startsWith('..') ? path : fromHere;
  return `
The hub is running. In another terminal:

  npx rollcall get clusters                                    what is registered
  npx rollcall events --follow                                 everything that happens, as it happens
  npx rollcall token create --print-register-command           let another cluster in
  kubectl --kubeconfig ${kubeconfig} get managedclusters.rollcall.dev

Ctrl-C stops it; \`npm start\` goes on from here; \`npx rollcall down --wipe\` forgets everything.
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
  const signalled = untilSignal();
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
    keepsNatsRunning: true,
    onProgress: (message) => say('up', message),
    onUnexpectedExit: (child, how) =>
      breakOff(
        new RollcallError('CHILD_FAILED', `${child.name} ended (${how})\n${child.lastLogLines().join('\n')}`),
      ),
  });
  await copyFile(hub.plane.adminKubeconfigPath, join(stateDir, 'kubeconfig'));
  say('up', `the hub listens on ${hub.addresses.join(', ')} (${seconds()})`);

  let agent: RunningAgent | undefined;
  const lost = hub.services
    .map((service) => service.notReady())
    .find((why) => why?.startsWith('HISTORY_LOST'));
  if (lost !== undefined)
    say('up', `${lost}\n${errorCatalogue.HISTORY_LOST.hint}\nThis hub is "${hub.hub.hubId}".`);
  try {
    if (lost === undefined && (options.withAgent ?? true)) {
      agent = await startLocalAgent(hub, {
        clusterName: localName,
        onPhase: ({ phase, message }) => say(phase, message),
      });
      const early = await Promise.race([untilReady(hub, localName), signalled, broken]);
      if (early === 'ready') say('ready', `cluster "${localName}" is Ready (${seconds()})`);
      if (early === 'late')
        say(
          'ready',
          `cluster "${localName}" is not Ready yet: \`rollcall describe cluster ${localName}\` says why`,
        );
    }
    if ((await Promise.race([hub.fenceStands(), signalled, broken])) === undefined) {
      say('up', `the fence stands: the API server checks who decides (${seconds()})`);
    }
    await showClusters(hub);
    process.stdout.write(nextSteps(hub));
    const signal = await Promise.race([signalled, broken]);
    say('down', `${signal}: stopping the agent, the services, NATS and Kubernetes`);
  } finally {
    await agent?.stop();
  }
  await hub.stop();
  say('down', 'stopped');
  return 0;
}

/** As the person's own kubectl would show them. */
async function showClusters(hub: EmbeddedHub): Promise<void> {
  const args = ['--kubeconfig', hub.plane.adminKubeconfigPath, 'get', 'managedclusters.rollcall.dev'];
  const { stdout } = await promisify(execFile)(findBinary('kubectl'), args);
  process.stdout.write(`\n${stdout}`);
}

/**
 * `rollcall down`: stops what an `up` of this state directory left running, and with `wipe` forgets everything.
 * @throws RollcallError STATE_IN_USE while an `up` is running; it is stopped with Ctrl-C, in its own terminal; USAGE for a directory
 *   to wipe that is nobody's hub
 */
export async function down(options: { stateDir: string; wipe: boolean }): Promise<number> {
  const { stateDir, wipe } = options;
  if (!existsSync(join(stateDir, 'hub.json')) && stateHolder(stateDir) === undefined) {
    const reaped = await endLeftovers(stateDir);
    if (reaped.length > 0) say('down', `ended ${reaped.join(', ')}`);
    if (wipe) refuseForeign(stateDir);
    const isThere = existsSync(stateDir);
    if (wipe && isThere) rmSync(stateDir, { recursive: true, force: true });
    say(
      'down',
      wipe && isThere ? `"${stateDir}" is gone; no hub was in it` : `there is no hub in "${stateDir}"`,
    );
    return 0;
  }
  const holder = stateHolder(stateDir);
  if (holder !== undefined) {
    say('down', `stopping the hub of process ${holder}`);
    process.kill(holder, 'SIGTERM');
    for (let waitedMs = 0; stateHolder(stateDir) === holder; waitedMs += 100) {
      if (waitedMs > 30_000) throw new RollcallError('STATE_IN_USE', `process ${holder} does not stop`);
      await delay(100);
    }
  }
  const reaped = await endLeftovers(stateDir);
  if (reaped.length > 0) say('down', `ended ${reaped.join(', ')}`);
  if (wipe) rmSync(stateDir, { recursive: true, force: true });
  const wasRunning = holder !== undefined || reaped.length > 0;
  const stopped = wasRunning ? 'stopped; the state is kept' : 'no hub was running; the state is kept';
  say('down', wipe ? `"${stateDir}" is gone; every cluster registers again` : stopped);
  return 0;
}
