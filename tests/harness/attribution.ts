import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import {
  apiVersionOf,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';

/** Of each kind whose author the API server fills in. */
const attributedObjects: readonly { resource: Resource; namespace?: string; spec: object }[] = [
  { resource: resources.managedClusters, spec: {} },
  { resource: resources.managedClusterSets, spec: {} },
  {
    resource: resources.approvalPolicies,
    spec: { rules: [{ name: 'probe', when: 'true', effect: 'Hold' }] },
  },
  {
    resource: resources.clusterRegistrationTokens,
    namespace: 'rollcall-join',
    spec: { publish: true },
  },
];

const attributedWithinMs = 60_000;

/**
 * The API server looks for policies once a second and for kinds every five: in between nobody fills in names, and after that, for seconds,
 * it refuses kinds that the policy does not know yet. So what counts is a name that was seen.
 */
export async function untilAttributed(admin: KubeClient): Promise<void> {
  const deadlineMs = performance.now() + attributedWithinMs;
  for (const { resource, namespace, spec } of attributedObjects) {
    const metadata = { name: 'probe', ...(namespace === undefined ? {} : { namespace }) };
    const object = { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata, spec };
    for (;;) {
      const tried = await admin.create<KubeObject>(resource, object, { dryRun: true }).catch(toRollcallError);
      if (!(tried instanceof RollcallError) && tried.metadata.annotations?.[annotations.changedBy]) break;
      if (performance.now() > deadlineMs) throw new Error(`no name on a ${resource.kind}`, { cause: tried });
      await delay(100);
    }
  }
}
