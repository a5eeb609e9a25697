import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { openCrowd } from '../hub/crowd.ts';
import type { HubReport } from '../hub/hub-process.ts';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { type BareClient, bareClient } from '../joins/bare-client.ts';
import { nowMs } from '../report/clock.ts';
import { type IdleWatches, measureIdleWatches } from './idle-watches.ts';
import { allowPeople, startMembers, through } from './members.ts';
import { measureWatchDelay } from './watch-delay.ts';

/** The API of a member through its hub, and the same asked directly, in turns. */
export interface ReachResult {
  readonly getMs: Ways<Spread>;
  /** With 32 open at once. */
  readonly getsPerSecond: Ways<number>;
  /** Lists of 8 MB, one after the other, compressed as kubectl asks for them. */
  readonly listsPerSecond: Ways<number>;
  /** What a watch through the hub shows later than a watch beside it. */
  readonly watchLaterMs: Spread;
  readonly idle: IdleWatches;
  /** Start to Ready of agents, one after the other; `beside`: while one person lists 8 MB as fast as they come. */
  readonly joinMs: { readonly alone: Spread; readonly beside: Spread };
}

export interface Ways<Value> {
  readonly direct: Value;
  readonly byHub: Value;
}

/** In turns, so that a busy machine is busy for both ways. */
const rounds = 5;
const oneByOne = 200;
const atOnce = 32;
const getsAtOnce = 1500;
const listsInRound = 5;
const joinsEach = 20;
const cluster = 'reached';
/** Who does not say so is sent lists as they are, but the hub's API server says so on its own way to the gateway, and unpacks them. */
const asKubectl = { 'accept-encoding': 'gzip' };
const get = '/api/v1/namespaces/default/configmaps/small';
const list = '/api/v1/namespaces/lists/configmaps';

export async function measureReach(say: (message: string) => void): Promise<ReachResult> {
  await using hub = await startBenchHub({ audit: 'none', withMember: true });
  const { report } = hub;
  if (!report.member) throw new RollcallError('UNEXPECTED', 'the hub of the bench has no member');
  const admin = openBenchClient(report.admin);
  const member = openBenchClient(report.member);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => {
    admin.close();
    member.close();
  });
  await allowPeople(member);
  await fill(member);
  const [agent] = await startMembers(report, admin, [cluster]);
  stack.use(agent);
  const ways: Ways<(path: string) => Promise<void>> = {
    direct: asker(
      stack.adopt(bareClient(report.member, atOnce, asKubectl), (client) => client.close()),
      (path) => path,
    ),
    byHub: asker(
      stack.adopt(bareClient(report.admin, atOnce, asKubectl), (client) => client.close()),
      (path) => through(cluster, path),
    ),
  };
  say('GETs and lists, directly and through the hub in turns');
  const plain = await measureRequests(ways);
  say('a watch through the hub and one beside it');
  const watchLaterMs = await measureWatchDelay(
    { admin: report.admin, member: report.member },
    member,
    cluster,
  );
  say('joins while one person lists as fast as it goes');
  const joinMs = await measureJoins(report, admin, () => ways.byHub(list));
  say('idle watches');
  const idle = await measureIdleWatches(report, admin);
  return { ...plain, watchLaterMs, joinMs, idle };
}

/** A ConfigMap to get, and 8 MB of them to list. */
async function fill(member: KubeClient): Promise<void> {
  const make = (namespace: string, name: string, text: string) =>
    member.create(
      resources.configMaps,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { text } } as KubeObject,
      { namespace },
    );
  const lists = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'lists' } };
  await member.create(resources.namespaces, lists);
  await make('default', 'small', 'x');
  for (let index = 0; index < 16; index++) await make('lists', `large-${index}`, 'x'.repeat(500_000));
}

const asker =
  (client: BareClient, at: (path: string) => string) =>
  async (path: string): Promise<void> => {
    const status = await client.send({ method: 'GET', path: at(path), body: undefined, contentType: '' });
    if (status !== 200) throw new RollcallError('UNEXPECTED', `GET ${at(path)} was answered with ${status}`);
  };

async function timed(work: () => Promise<unknown>): Promise<number> {
  const fromMs = nowMs();
  await work();
  return nowMs() - fromMs;
}

async function measureRequests(
  ways: Ways<(path: string) => Promise<void>>,
): Promise<Pick<ReachResult, 'getMs' | 'getsPerSecond' | 'listsPerSecond'>> {
  const names = ['direct', 'byHub'] as const;
  const took = { direct: newTimes(), byHub: newTimes() };
  // Before the first turn that counts, code is compiled and connections are made.
  for (let round = 0; round <= rounds; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const ask = ways[name];
      const times = round === 0 ? newTimes() : took[name];
      for (let turn = 0; turn < oneByOne; turn++) times.getMs.push(await timed(() => ask(get)));
      const all = Array.from({ length: getsAtOnce }, () => get);
      times.allMs += await timed(() => inParallel(all, atOnce, ask));
      for (let turn = 0; turn < listsInRound; turn++) times.listMs += await timed(() => ask(list));
    }
  const both = <Value>(of: (times: Times) => Value): Ways<Value> => ({
    direct: of(took.direct),
    byHub: of(took.byHub),
  });
  return {
    getMs: both(({ getMs }) => spreadOf(getMs)),
    getsPerSecond: both(({ allMs }) => (rounds * getsAtOnce * 1000) / allMs),
    listsPerSecond: both(({ listMs }) => (rounds * listsInRound * 1000) / listMs),
  };
}

interface Times {
  readonly getMs: number[];
  allMs: number;
  listMs: number;
}
const newTimes = (): Times => ({ getMs: [], allMs: 0, listMs: 0 });

async function measureJoins(
  report: HubReport,
  admin: KubeClient,
  copy: () => Promise<void>,
): Promise<ReachResult['joinMs']> {
  await using crowd = await openCrowd({ ...report, admin }, 2 * joinsEach + 3);
  async function joins(prefix: string, count: number): Promise<number[]> {
    const tookMs: number[] = [];
    for (const name of clusterNames(prefix, count)) {
      tookMs.push(...(await crowd.join([name])));
      await delay(200);
    }
    return tookMs;
  }
  await joins('warm-up', 3);
  const alone = await joins('alone', joinsEach);
  const over = new AbortController();
  const copying = (async () => {
    while (!over.signal.aborted) await copy();
  })();
  const beside = await joins('beside', joinsEach);
  over.abort();
  await copying;
  return { alone: spreadOf(alone), beside: spreadOf(beside) };
}
