import { type KubeClient, resources } from '@rollcall/shared/kubernetes';

const bindingName = 'rollcall-published-tokens';

/** In which namespaces of people a hub was given the right to publish tokens (deploy/hub/token-namespaces.yaml), whatever it is told now. */
export async function tokenNamespacesThere(client: KubeClient): Promise<string[]> {
  const labelSelector = 'app.kubernetes.io/part-of=rollcall';
  const bindings = await client.list(resources.roleBindings, { labelSelector });
  const ours = bindings.filter(({ metadata }) => metadata.name === bindingName);
  return ours.flatMap(({ metadata }) => metadata.namespace ?? []);
}
