import { setTimeout as delay } from 'node:timers/promises';
import { startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { type EventLog, openEventLog } from '@rollcall/shared/bus';
import { clusterRecord, type ClusterRecord } from '@rollcall/shared/events';
import { createKubeClient, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { type ClusterRegistrationRequest, labels } from '@rollcall/shared/resources';
import type { Random } from '../../cli/simulate/random.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { persist } from '../../tests/chaos/workload.ts';
import { bindRole } from '../../tests/harness/control-plane.ts';
import { until } from '../../tests/harness/embedded.ts';
import type { SoakStage } from './soak-stage.ts';

/** What people did to the fleet, and what of it never came to be. */
export interface PeopleRecord {
  readonly done: Readonly<Record<string, number>>;
  readonly failed: readonly string[];
}

export interface PeopleOptions {
  /** To whom they do it: clusters to which nothing else happens. */
  readonly clusters: readonly string[];
  /** By which those come that they decide about. */
  readonly token: string;
  readonly random: Random;
  /** Between two of a kind. */
  readonly everyMs: number;
  readonly signal: AbortSignal;
  say(message: string): void;
}

type Request = ClusterRegistrationRequest & KubeObject;

const users = {
  alice: 'rollcall-approver',
  bob: 'rollcall-approver',
  carol: 'rollcall-admin',
  dave: 'rollcall-admin',
} as const;
const sets = ['blue', 'green'];
const policy = 'soak';
const heldToken = 'soak-held';
const mostVisitors = 100_000;
/** Longer than any outage of the soak. */
const doneWithinMs = 180_000;

/** Whoever comes by that token waits for a person; the other rule is another one each time. */
const rulesOf = (change: number) => [
  { name: 'held', when: `token.name == "${heldToken}"`, effect: 'Hold', reason: 'APersonDecides' },
  {
    name: `change-${change}`,
    when: `request.clusterName == "nobody-${change}"`,
    effect: 'Deny',
    reason: 'Nobody',
  },
];

/**
 * Makes who and what people need.
 * @returns the token of those that they decide about
 */
export async function preparePeople({ hub }: SoakStage): Promise<string> {
  const { admin } = hub;
  for (const [user, role] of Object.entries(users)) await bindRole(admin, user, role);
  const { managedClusterSets, approvalPolicies } = resources;
  const apiVersion = 'rollcall.dev/v1alpha1';
  for (const name of sets)
    await admin.create(managedClusterSets, {
      apiVersion,
      kind: managedClusterSets.kind,
      metadata: { name },
      spec: {},
    } as KubeObject);
  await admin.create(approvalPolicies, {
    apiVersion,
    kind: approvalPolicies.kind,
    metadata: { name: policy },
    spec: { rules: rulesOf(0) },
  } as KubeObject);
  return makeToken(admin, {
    hubId: hub.hub.hubId,
    name: heldToken,
    uses: mostVisitors,
    terms: { ttl: '24h' },
    takenWithinMs: doneWithinMs,
  });
}

/** Several people who decide, each again and again, through the API server. Ends when the signal says so and what is under way is done. */
export async function runPeople(stage: SoakStage, options: PeopleOptions): Promise<PeopleRecord> {
  const { clusters, token, random, everyMs, signal, say } = options;
  const { hub } = stage;
  const log: EventLog = await openEventLog(stage.bus, { epoch: hub.hub.epoch, source: '/rollcall/soak' });
  await using stack = new AsyncDisposableStack();
  const clients = Object.fromEntries(
    Object.keys(users).map((user) => {
      const how = { fieldManager: user, userAgent: 'rollcall-soak' };
      const client = createKubeClient(hub.plane.userAccess(user), how);
      stack.defer(() => client.close());
      return [user, client];
    }),
  ) as Record<keyof typeof users, KubeClient>;
  const done: Record<string, number> = {};
  const failed: string[] = [];
  let [changes, visitors] = [0, 0];

  // A NATS server is killed now and then: whoever asks meanwhile asks again.
  const recordOf = (id: string) =>
    until(`${id} is read`, async () => clusterRecord(await log.read({ kind: 'cluster', id })), {
      withinMs: doneWithinMs,
    });
  async function untilRecord(what: string, id: string, isSo: (record: ClusterRecord) => boolean) {
    await until(what, async () => isSo(await recordOf(id)), { withinMs: doneWithinMs }).catch(
      async (error: unknown) => {
        const { decision, liveness } = await recordOf(id);
        throw new Error(`${String(error)}; it is ${JSON.stringify({ decision, liveness })}`);
      },
    );
  }
  const patch = (who: keyof typeof users, name: string, what: object) =>
    persist(() => clients[who].mergePatch(resources.managedClusters, name, what));

  async function cordon(): Promise<void> {
    const name = random.pick(clusters);
    const unschedulable = (await recordOf(name)).decision?.unschedulable !== true;
    await patch('dave', name, { spec: { unschedulable } });
    const isSo = ({ decision }: ClusterRecord) => decision?.unschedulable === unschedulable;
    await untilRecord(`${name} is ${unschedulable ? 'cordoned' : 'uncordoned'}`, name, isSo);
  }
  async function move(): Promise<void> {
    const name = random.pick(clusters);
    const set = random.pick(sets);
    await patch('carol', name, { metadata: { labels: { [labels.clusterSet]: set } } });
    const isThere = ({ decision }: ClusterRecord) => decision?.clusterSet === set;
    await untilRecord(`${name} is in set ${set}`, name, isThere);
  }
  async function rotate(): Promise<void> {
    const name = random.pick(clusters);
    const before = (await recordOf(name)).identity?.admittedKey;
    const object = await until(
      `${name} is shown with its key`,
      async () => {
        const shown = await clients.carol.get<KubeObject & { status?: { keyFingerprint?: string } }>(
          resources.managedClusters,
          { name },
        );
        return shown?.status?.keyFingerprint;
      },
      { withinMs: doneWithinMs },
    );
    const operation = { id: `soak-${changes++}`, verb: 'RotateKey', keyFingerprint: object, by: 'carol' };
    await patch('carol', name, { spec: { operation } });
    const isOther = ({ identity }: ClusterRecord) => identity?.admittedKey !== before;
    await untilRecord(`${name} has another key`, name, isOther);
  }
  async function changePolicy(): Promise<void> {
    const rules = rulesOf(++changes);
    await persist(() => clients.carol.mergePatch(resources.approvalPolicies, policy, { spec: { rules } }));
  }
  async function receive(who: 'alice' | 'bob', verdict: 'Approve' | 'Deny'): Promise<void> {
    const cluster = `visitor-${++visitors}`;
    const agent = startSimulatedAgent({
      cluster,
      hub: hub.natsAddress.servers,
      caPem: hub.hub.caPem,
      token,
      onTrouble: () => undefined,
    });
    try {
      const request = await until(
        `${cluster} waits for a person`,
        async () => {
          const shown = await clients[who].get<Request>(resources.clusterRegistrationRequests, {
            name: cluster,
          });
          return shown?.status?.result === 'Held' && shown;
        },
        { withinMs: doneWithinMs },
      );
      const { keyFingerprint } = request.spec;
      const decision = { verdict, keyFingerprint, reason: 'the soak', by: who };
      await persist(() =>
        clients[who].mergePatch(resources.clusterRegistrationRequests, cluster, { spec: { decision } }),
      );
      const wanted = verdict === 'Approve' ? 'approved' : 'denied';
      await untilRecord(`${cluster} is ${wanted}`, cluster, (record) => record.decision?.verdict === wanted);
      if (verdict === 'Deny') return;
      await untilRecord(`${cluster} is ready`, cluster, ({ liveness }) => liveness?.state === 'ready');
      // Nobody can delete what is not shown yet.
      const shown = () => clients.carol.get(resources.managedClusters, { name: cluster });
      await until(`${cluster} is shown`, shown, { withinMs: doneWithinMs });
      await persist(() => clients.carol.delete(resources.managedClusters, cluster));
      await untilRecord(`${cluster} has left`, cluster, ({ identity }) => identity?.state === 'left');
    } finally {
      await agent.stop();
    }
  }
  const kinds: Readonly<Record<string, () => Promise<void>>> = {
    cordon,
    move,
    rotate,
    'change a policy': changePolicy,
    approve: () => receive('alice', 'Approve'),
    deny: () => receive('bob', 'Deny'),
  };
  async function again([kind, act]: [string, () => Promise<void>]): Promise<void> {
    while (!signal.aborted) {
      try {
        await act();
        done[kind] = (done[kind] ?? 0) + 1;
      } catch (error) {
        say(`${kind}: ${String(error)}`);
        failed.push(`${kind}: ${String(error)}`);
      }
      await delay(everyMs * (0.5 + random.next()), undefined, { signal }).catch(() => undefined);
    }
  }
  await Promise.all(Object.entries(kinds).map(again));
  return { done, failed };
}
