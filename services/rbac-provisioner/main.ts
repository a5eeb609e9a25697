import { consumeEvents } from '@rollcall/shared/decisions';
import { createEventId, type EventDraft, type StoredEvent } from '@rollcall/shared/events';
import { createKubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { readIdentity, rollcallVersion, type RunningService, runService } from '@rollcall/shared/service';
import { bringAccessAbout } from './bring-access-about.ts';
import type { Config } from './config.ts';
import { bringPublicationAbout } from './publish-token.ts';
import { watchExpiries } from './watch-expiries.ts';

export { configSchema } from './config.ts';

const metricNames = {
  rollcall_provisioner_events_total: 'Outcomes told, by type',
  rollcall_provisioner_dead_total: 'Events that ended in the dead letters',
} as const;

export async function start(config: Config): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, {});
  const access = loadKubeAccess({ path: config.kubeconfig, context: config.kubeContext });
  const kube = createKubeClient(access, {
    fieldManager: 'rollcall-rbac-provisioner',
    userAgent: `rollcall-rbac-provisioner/${rollcallVersion}`,
  });
  return runService({
    name: 'rbac-provisioner',
    description: 'makes namespaces and rights of members, and takes them back',
    config,
    identity,
    metrics: metricNames,
    async work({ nc, log, logger, metrics }) {
      const world = { log, kube, reservedNames: config.reservedNames, nowMs: Date.now };
      function tell(drafts: readonly EventDraft[]): void {
        for (const { definition, aggregate, reason } of drafts) {
          const { kind, id } = aggregate;
          const isCluster = kind === 'cluster';
          metrics.count('rollcall_provisioner_events_total', { type: definition.type });
          const about = isCluster ? { clusterId: id } : { object: `${kind}/${id}` };
          const fields = { ...about, reason, state: definition.type };
          const what = isCluster ? 'access of a cluster' : 'Secret of a token';
          if (definition.type.endsWith('-failed')) logger.warn(fields, `${what} cannot be made`);
          else logger.info(fields, `${what} changed`);
        }
      }
      async function bringAbout(event: StoredEvent): Promise<readonly EventDraft[]> {
        if (event.kind === 'cluster') return bringAccessAbout(world, event);
        const { id, correlation, traceparent } = event;
        return bringPublicationAbout(world, id, { correlation, traceparent });
      }
      const consumption = await consumeEvents(nc, {
        service: 'rbac-provisioner',
        logger,
        handle: async (event) => tell(await bringAbout(event)),
        onDead: () => metrics.count('rollcall_provisioner_dead_total'),
      });
      const expiries = watchExpiries({
        log,
        logger,
        everyMs: config.expirySweep,
        nowMs: Date.now,
        lookAt: (id) => bringPublicationAbout(world, id, { correlation: createEventId(Date.now()) }),
      });
      return {
        async drain() {
          await Promise.all([consumption.drain(), expiries.drain()]);
          kube.close();
        },
      };
    },
  });
}
