import { jetstreamManager } from '@nats-io/jetstream';
import { type EventLog, followEvents } from '@rollcall/shared/bus';
import {
  approved,
  clusterRecord,
  type ClusterRecord,
  type Decision,
  denied,
  draft,
  type EventDefinition,
  leaving,
  revoked,
} from '@rollcall/shared/events';
import {
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../../tests/harness/control-plane.ts';
import { consumersOf } from '@rollcall/shared/rights';
import { aDecision } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

const definitions = { approved, denied, revoked, leaving } as const;
export type Word = keyof typeof definitions;

export interface ProvisionerWorld extends AsyncDisposable {
  readonly hub: TestHub;
  readonly plane: TestControlPlane;
  startProvisioner(user?: string): Promise<AsyncDisposable>;
  /** Appends a word of the approver about a cluster, whose id is its name and that has access, unless told otherwise. */
  say(word: Word, clusterName: string, more?: Partial<Decision> & { id?: string }): Promise<void>;
  /** The record, once the provisioner has written an event of that type after the approver's last word. */
  told(clusterId: string, type: string): Promise<ClusterRecord>;
  /** How many events of that type a cluster has. */
  count(clusterId: string, type: string): Promise<number>;
  /** Once everything that was said has been handled and acknowledged. */
  settled(): Promise<void>;
}

/** @param options.ownPlane - as of startTestControlPlane */
export async function startWorld(options?: { ownPlane: boolean }): Promise<ProvisionerWorld> {
  const [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane(options)]);
  const approver: EventLog = await hub.openLog('approver');
  const setup = await hub.connectAs('setup');
  const watcher = await hub.connectAs('inspector');
  const read = async (id: string) => clusterRecord(await approver.read({ kind: 'cluster', id }));

  return {
    hub,
    plane,
    async startProvisioner(user = serviceUser('rbac-provisioner')) {
      const kubeconfig = plane.kubeconfigFor(user);
      const running = await start(
        configSchema.parse({
          ...hub.serviceSettings('rbac-provisioner'),
          kubeconfig,
          expirySweep: '1s',
        }),
      );
      return { [Symbol.asyncDispose]: () => running.stop() };
    },
    async say(word, clusterName, { id = clusterName, ...more } = {}) {
      const record = await read(id);
      const section = aDecision({
        verdict: word,
        requestId: 'R1',
        key: 'K1',
        clusterName,
        namespace: clusterName,
        by: { person: 'test' },
        decidedAtMs: Date.now(),
        access: 'Namespace',
        ...more,
      });
      const definition: EventDefinition = definitions[word];
      await approver.append([draft(definition, record, { reason: 'Test', message: 'm', section })], {
        correlation: 'test',
      });
    },
    async told(clusterId, type) {
      const stop = new AbortController();
      const follow = { filter: `cluster.${clusterId}.*`, fromSequence: 1, signal: stop.signal };
      try {
        for await (const event of followEvents(watcher, approver, follow)) {
          if (event.type !== type) continue;
          const record = await read(clusterId);
          const last = record.lastOf['rbac-provisioner'];
          if (last?.type === type && last.sequence > (record.lastOf.approver?.sequence ?? 0)) return record;
        }
      } finally {
        stop.abort();
      }
      throw new Error('the bus was closed');
    },
    async count(clusterId, type) {
      let found = 0;
      for await (const event of approver.scan({ filter: `cluster.${clusterId}.${type}` })) {
        if (event.type === type) found++;
      }
      return found;
    },
    async settled() {
      const jsm = await jetstreamManager(setup);
      for (;;) {
        const consumers = consumersOf('rbac-provisioner');
        const infos = await Promise.all(consumers.map(({ name }) => jsm.consumers.info('EVENTS', name)));
        if (infos.every((info) => info.num_pending === 0 && info.num_ack_pending === 0)) return;
      }
    },
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await plane[Symbol.asyncDispose]();
    },
  };
}
