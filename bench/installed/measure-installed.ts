import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { rollcallVersion } from '@rollcall/shared/service';
import { pods } from '../../cli/install/workloads.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { until } from '../../tests/harness/embedded.ts';
import {
  hubFlags,
  hubNamespace,
  installAllInOne,
  type InstalledHub,
  startInstalledHub,
} from '../../tests/nodes/installed-hub.ts';
import { baseImages } from '../../tests/nodes/machine/base-images.ts';
import { type NodeParts, provideNodes } from '../../tests/nodes/provide-nodes.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { type Crowd, openCrowd } from '../hub/crowd.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { nowMs } from '../report/clock.ts';
import { measureNodeOff } from './measure-node-off.ts';
import { openInstalled } from './open-installed.ts';

/** A hub of the charts on a real node, as people install it. */
export interface InstalledResult {
  /** Of everything but the joins at once. */
  readonly rounds: number;
  /** `install all-in-one`, images there, until it says that the cluster is Ready. */
  readonly installMs: Spread;
  /** Of all clean installs together. */
  readonly restarts: number;
  /** Agents beside the hub while it is restarted. */
  readonly agents: number;
  /** The pod of the NATS server deleted → agents heard again. */
  readonly natsDeletedMs: Spread;
  /** Every pod made anew by a new version → agents heard again, from when the NATS server's began to end. */
  readonly upgradeMs: Spread;
  /** Clusters that were shown as not Ready meanwhile. */
  readonly leftReady: number;
  /** By pod, after all of it. */
  readonly workingSetBytes: Readonly<Record<string, number>>;
  readonly atOnce: {
    readonly members: number;
    readonly joinsPerSecond: number;
    /** The same on the hub of `rollcall up`. */
    readonly embeddedJoinsPerSecond: number;
  };
  /** Three servers on three nodes, one of which has lost its power → the next join is Ready. */
  readonly nodeOffMs: Spread;
}

type Say = (message: string) => void;

/** Beside the hub while it is restarted: more would only tell how long as many handshakes take on two cores. */
const agentsAtRest = 100;

/**
 * @param options - `rounds`: of everything but the joins at once; `members`: that join at once
 * @throws RollcallError USAGE where there can be no nodes here
 */
export async function measureInstalled(
  { rounds, members }: { readonly rounds: number; readonly members: number },
  say: Say,
): Promise<InstalledResult> {
  const provided = await provideNodes();
  if (provided.whyNot !== undefined) throw new RollcallError('USAGE', `no nodes here: ${provided.whyNot}`);
  const { parts, end } = provided;
  try {
    const installs = await measureInstalls(rounds, parts, say);
    await using hub = installs.hub;
    const restarted = await measureRestarts(hub, rounds, say);
    say(`${members} members at once, on this hub`);
    const joinsPerSecond = await joinsAtOnce(await openInstalled(hub, members), members);
    await hub[Symbol.asyncDispose]();
    say(`${members} members at once, on the hub of rollcall up`);
    const embeddedJoinsPerSecond = await joinsOfEmbedded(members);
    const { installMs, restarts } = installs;
    return {
      rounds,
      installMs,
      restarts,
      agents: agentsAtRest,
      ...restarted,
      atOnce: { members, joinsPerSecond, embeddedJoinsPerSecond },
      nodeOffMs: await measureNodeOff(rounds, parts, say),
    };
  } finally {
    await end();
  }
}

async function measureInstalls(
  rounds: number,
  parts: NodeParts,
  say: Say,
): Promise<{ hub: InstalledHub; installMs: Spread; restarts: number }> {
  const tookMs: number[] = [];
  let restarts = 0;
  const install = async (hub: InstalledHub) => {
    const fromMs = nowMs();
    await installAllInOne(hub);
    tookMs.push(nowMs() - fromMs);
  };
  for (let round = 1; ; round++) {
    say(`install ${round} of ${rounds}`);
    const hub = await startInstalledHub(1, {}, { parts, install });
    restarts += (await hub.restarts(hubNamespace)) + (await hub.restarts('rollcall-agent'));
    if (round === rounds) return { hub, installMs: spreadOf(tookMs), restarts };
    await hub[Symbol.asyncDispose]();
  }
}

async function measureRestarts(
  hub: InstalledHub,
  rounds: number,
  say: Say,
): Promise<Pick<InstalledResult, 'natsDeletedMs' | 'upgradeMs' | 'leftReady' | 'workingSetBytes'>> {
  await using crowd = await openInstalled(hub, agentsAtRest);
  await crowd.join(clusterNames('rest', agentsAtRest));
  const natsDeletedMs: number[] = [];
  const upgradeMs: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    say(`the NATS server is deleted, ${round} of ${rounds}`);
    const pod = ['--namespace', hubNamespace, 'delete', 'pod', 'rollcall-nats-0', '--wait=false'];
    natsDeletedMs.push(...(await backSinceDeleted(crowd, hub, () => hub.kubectl(...pod))));
    await hub.untilAllRun();
  }
  const second = { rollcall: 'rollcall:second', agent: 'rollcall-agent:second', nats: 'nats:second' };
  await hub.tagImage(`rollcall:${rollcallVersion}`, second.rollcall);
  await hub.tagImage(baseImages.nats, second.nats);
  for (let round = 1; round <= rounds; round++) {
    say(`every pod of the hub is made anew, ${round} of ${rounds}`);
    const isSecond = round % 2 === 1;
    const image = isSecond ? second.rollcall : `rollcall:${rollcallVersion}`;
    const nats = {
      serviceType: 'NodePort',
      nodePort: 31_422,
      image: isSecond ? second.nats : baseImages.nats,
    };
    const values = ['--values', hub.valuesFile('second', { image, nats })];
    const install = async () => {
      const { code, stderr } = await hub.rollcall('install', 'hub', ...values, ...hubFlags(hub));
      if (code !== 0) throw new RollcallError('CHILD_FAILED', stderr);
    };
    upgradeMs.push(...(await backSinceDeleted(crowd, hub, install)));
    await hub.untilAllRun();
  }
  const memory = await hub.memory(hubNamespace);
  return {
    natsDeletedMs: spreadOf(natsDeletedMs),
    upgradeMs: spreadOf(upgradeMs),
    leftReady: crowd.leftReady(),
    workingSetBytes: Object.fromEntries(
      memory.map(({ pod, workingSetBytes }) => [nameOf(pod), workingSetBytes]),
    ),
  };
}

/** Without what Kubernetes adds. */
const nameOf = (pod: string): string => pod.replace(/-[0-9a-f]+-[0-9a-z]{5}$/, '');

/** An agent takes a connection that ended within 10 s for a failed one, and waits longer the next time. */
const steadyAfterMs = 12_000;

/** @returns for each agent, how long after Kubernetes began to end the pod of the NATS server it was heard again */
async function backSinceDeleted(
  crowd: Crowd,
  hub: InstalledHub,
  work: () => Promise<unknown>,
): Promise<number[]> {
  const pod = { name: 'rollcall-nats-0', namespace: hubNamespace };
  await delay(steadyAfterMs);
  const before = await hub.admin.get(pods, pod);
  const deleted = until(
    'the pod of the NATS server ends',
    async () => {
      const found = await hub.admin.get(pods, pod);
      const isThere = found?.metadata.uid === before?.metadata.uid;
      return isThere && found?.metadata.deletionTimestamp === undefined ? undefined : nowMs();
    },
    { withinMs: 240_000, everyMs: 20 },
  );
  const [backMs, deletedMs] = await Promise.all([crowd.backAfter(work), deleted]);
  return backMs.map((atMs) => atMs - deletedMs);
}

async function joinsAtOnce(opened: Crowd, members: number): Promise<number> {
  await using crowd = opened;
  const tookMs = await crowd.join(clusterNames('at-once', members));
  return (members * 1000) / Math.max(...tookMs);
}

async function joinsOfEmbedded(members: number): Promise<number> {
  await using hub = await startBenchHub({ audit: 'metadata', withMember: false });
  const admin = openBenchClient(hub.report.admin);
  try {
    return await joinsAtOnce(await openCrowd({ ...hub.report, admin }, members), members);
  } finally {
    admin.close();
  }
}
