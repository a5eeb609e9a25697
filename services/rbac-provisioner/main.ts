import { consumeEvents } from '@rollcall/shared/decisions';
import { createKubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { readIdentity, rollcallVersion, type RunningService, runService } from '@rollcall/shared/service';
import { bringAccessAbout } from './bring-access-about.ts';
import type { Config } from './config.ts';

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
      const consumption = await consumeEvents(nc, {
        service: 'rbac-provisioner',
        logger,
        async handle(event) {
          for (const told of await bringAccessAbout(world, event)) {
            metrics.count('rollcall_provisioner_events_total', { type: told.definition.type });
            const fields = { clusterId: event.id, reason: told.reason, state: told.definition.type };
            if (told.definition.type === 'provisioning-failed')
              logger.warn(fields, 'access of a cluster cannot be made');
            else logger.info(fields, 'access of a cluster changed');
          }
        },
        onDead: () => metrics.count('rollcall_provisioner_dead_total'),
      });
      return {
        async drain() {
          await consumption.drain();
          kube.close();
        },
      };
    },
  });
}
