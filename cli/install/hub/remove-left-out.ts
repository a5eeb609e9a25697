import { createResourceFinder, type KubeClient } from '@rollcall/shared/kubernetes';
import { say } from '../../terminal/output.ts';
import { shown } from '../deploy-templates.ts';
import { hubObjects } from './hub-objects.ts';
import type { HubValues } from './hub-values.ts';
import { tokenNamespacesThere } from './token-namespaces.ts';

/**
 * Of a hub that was installed with a member gateway, a console, an Ingress, what sends events or a namespace of tokens, and is to have none,
 * deletes what belongs to it, as an upgrade by Helm does: an API that nobody serves keeps Kubernetes from emptying namespaces.
 */
export async function removeLeftOut(
  client: KubeClient,
  values: HubValues,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<void> {
  const gateway = values.services['member-gateway'];
  const services = { ...values.services, 'member-gateway': { ...gateway, replicas: 1 } };
  const nats = { ...values.nats, ingress: { ...values.nats.ingress, host: 'any' } };
  const console = {
    ...values.console,
    host: 'any',
    tlsSecret: 'any',
    ingress: { ...values.console.ingress, enabled: true },
  };
  // Where only pods are, nobody may look at rights.
  const tokenNamespaces = values.parts.kubernetes ? await tokenNamespacesThere(client) : [];
  const stays = new Set(hubObjects(values).map(shown));
  const goes = hubObjects({
    ...values,
    services,
    nats,
    tokenNamespaces,
    console,
    forward: { ...values.forward, secret: 'any' },
  }).filter((object) => !stays.has(shown(object)));
  const resourceOf = createResourceFinder(client, undefined);
  // What announces it is the last that came.
  for (const object of goes.toReversed()) {
    const { name = '', namespace } = object.metadata;
    const wasThere = await client.delete(await resourceOf(object), name, { namespace, dryRun });
    const outcome = dryRun ? 'would be deleted' : 'deleted';
    if (wasThere) say(`[install] ${shown(object)}: ${outcome}, as the values leave it out`);
  }
}
