import { consumeEvents } from '@rollcall/shared/decisions';
import { createEventId, type EventDraft, type StoredEvent } from '@rollcall/shared/events';
import { createKubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { readIdentity, rollcallVersion, type RunningService, runService } from '@rollcall/shared/service';
import { answerMintRequests } from './mint/answer-mint-requests.ts';
import { reconcileAccess } from './access/reconcile-access.ts';
import type { Config } from './config.ts';
import { countWrites } from './access/count-writes.ts';
import { createSeenRequests } from './mint/seen-requests.ts';
import { keepObjects } from './access/keep-objects.ts';
import { membersApiOf } from './mint/members-api.ts';
import { tellLostSecret } from './tokens/lost-secret.ts';
import { bringPublicationAbout } from './tokens/publish-token.ts';
import { expirePublishedSecrets } from './tokens/sweep-published-secrets.ts';

export { configSchema } from './config.ts';

/**
 * Clusters whose namespace is deleted a second while others join. To empty one takes a small machine longer than a join does, so the
 * next begins when those who joined meanwhile are in. No right waits for it: key and account go before.
 */
const departuresPerSecond = 0.2;

export async function start(config: Config, waitsUntil?: AbortSignal): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, {});
  const access = loadKubeAccess({ path: config.kubeconfig, context: config.kubeContext });
  const hubApi = membersApiOf(config, access);
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-rbac-provisioner',
    userAgent: `rollcall-rbac-provisioner/${rollcallVersion}`,
  });
  return runService({
    name: 'rbac-provisioner',
    description: 'makes namespaces and rights of members, and takes them back',
    told: { reservedNames: config.reservedNames.join(','), namespaces: config.namespaces },
    config,
    identity,
    waitsUntil,
    async work({ nc, log, logger, metrics }) {
      const kube = countWrites(client, metrics);
      const world = {
        log,
        kube,
        reservedNames: config.reservedNames,
        namespaces: config.namespaces,
        nowMs: Date.now,
      };
      function tell(drafts: readonly EventDraft[]): void {
        for (const { definition, aggregate, reason } of drafts) {
          const { kind, id } = aggregate;
          const isCluster = kind === 'cluster';
          const about = isCluster ? { clusterId: id } : { object: `${kind}/${id}` };
          const fields = { ...about, reason, state: definition.type };
          const what = isCluster ? 'access of a cluster' : 'Secret of a token';
          if (definition.type.endsWith('-failed')) logger.warn(fields, `${what} cannot be made`);
          else logger.info(fields, `${what} changed`);
        }
      }
      const objects = keepObjects({
        log,
        kube: client,
        logger,
        namespaces: config.namespaces,
        bring: (wake) => reconcileAccess(world, wake),
        tell,
      });
      async function bringAbout(event: StoredEvent): Promise<readonly EventDraft[]> {
        if (event.kind === 'cluster') return objects.bringOrWait(event);
        const { id, correlation, traceparent } = event;
        return bringPublicationAbout(world, id, { correlation, traceparent });
      }
      const consumption = await consumeEvents(nc, {
        service: 'rbac-provisioner',
        logger,
        metrics,
        departuresPerSecond,
        handle: async (event) => tell(await bringAbout(event)),
      }).catch(async (error: unknown) => {
        await objects.drain();
        throw error;
      });
      const minting = {
        log,
        kube: client,
        hubId: identity.hubId,
        hubApi,
        tokenLifeMs: config.accessTokenLife,
        isRepeated: createSeenRequests(Date.now),
        nowMs: Date.now,
      };
      const mints = answerMintRequests(nc, minting, { logger, metrics });
      const expiries = expirePublishedSecrets({
        log,
        logger,
        everyMs: config.expirySweep,
        nowMs: Date.now,
        lookAt: (id) => bringPublicationAbout(world, id, { correlation: createEventId(Date.now()) }),
        lookForSecret: async (id) =>
          tell(await tellLostSecret(world, id, { correlation: createEventId(Date.now()) })),
      });
      return {
        // Later on its events wait for it, and are tried again.
        notReady: () => (objects.isSynced() ? undefined : 'waiting for the API server'),
        stats: () => ({
          provisioned: metrics.value('rollcall_events_written_total', { type: 'cluster.provisioned' }),
          deprovisioned: metrics.value('rollcall_events_written_total', { type: 'cluster.deprovisioned' }),
          failed: metrics.value('rollcall_events_written_total', { type: 'cluster.provisioning-failed' }),
          kubernetesWrites: metrics.value('rollcall_kubernetes_writes_total'),
          accessTokens: metrics.value('rollcall_access_tokens_total', { outcome: 'sealed' }),
          deadLetters: metrics.value('rollcall_dead_letters_total'),
        }),
        async drain() {
          await Promise.all([consumption.drain(), expiries.drain(), mints.drain(), objects.drain()]);
          client.close();
        },
      };
    },
  });
}
