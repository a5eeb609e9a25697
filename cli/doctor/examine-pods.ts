import { findHubInfo } from '@rollcall/shared/hub';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { hubOfIdentity, type KeptSecret } from '../install/hub/hub-there.ts';
import { stepAfter } from '../install/pod-trouble.ts';
import { isAvailable, workloadTroubles } from '../install/until-available.ts';
import { type Deployment, statefulSets } from '../install/workloads.ts';
import { finding, type Finding, ok, orSkipped, skipped } from './finding.ts';

const namespace = 'rollcall-system';
const servers = 'rollcall-nats';

/** Why pods of the hub do not run, where they are in this cluster. */
export function examinePods(client: KubeClient): Promise<readonly Finding[]> {
  return orSkipped('pods', async () => {
    const lists = [statefulSets, resources.deployments].map(async (resource) => {
      const found = await client.list<Deployment>(resource, { namespace });
      return found.map((workload) => ({ resource, workload }));
    });
    const all = (await Promise.all(lists)).flat();
    const late = all.filter(({ workload }) => !isAvailable(workload));
    const looking = late.map(({ resource, workload: { metadata } }) =>
      workloadTroubles(client, { resource, name: metadata.name, namespace }),
    );
    const troubles = [...new Set((await Promise.all(looking)).flat())];
    if (all.length === 0) return [skipped('pods', 'none of this hub is in this cluster')];
    if (
      !all.some(({ resource, workload }) => resource === statefulSets && workload.metadata.name === servers)
    )
      troubles.push(`StatefulSet ${servers} is missing: there is no NATS server`);
    if (troubles.length === 0) return [ok('pods', 'nothing keeps one from starting')];
    return troubles.map((trouble) => finding('pods', trouble, stepAfter(trouble)));
  });
}

/**
 * Whether the keys that its services have are those of this hub.
 * @param workloads - where its services run
 */
export function examineKeys(client: KubeClient, workloads: KubeClient): Promise<readonly Finding[]> {
  return orSkipped('keys', async () => {
    const labelSelector = 'app.kubernetes.io/part-of=rollcall';
    const [info, secrets] = await Promise.all([
      findHubInfo(client),
      workloads.list<KeptSecret>(resources.secrets, { namespace, labelSelector }),
    ]);
    const others = secrets.flatMap((secret) => {
      const hubId = hubOfIdentity(secret);
      return hubId === undefined || hubId === info?.hubId
        ? []
        : [`${secret.metadata.name} is of hub ${hubId}`];
    });
    if (info === undefined) return [skipped('keys', 'this cluster does not say which hub it is')];
    if (others.length === 0) return [ok('keys', `no Secret here is of another hub than ${info.hubId}`)];
    return [
      finding(
        'keys',
        `this is hub ${info.hubId}, and Secret ${others.join(', Secret ')}`,
        'Install again with the keys of this hub (`rollcall install hub --keys DIR`, with --only-keys where Helm installs): that writes its Secrets anew.',
      ),
    ];
  });
}
