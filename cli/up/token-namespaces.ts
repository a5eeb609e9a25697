import { RollcallError } from '@rollcall/shared/errors';
import { applyManifests, isAlreadyExists, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { hubObjects } from '../install/hub/hub-objects.ts';
import { hubValuesSchema } from '../install/hub/hub-values.ts';
import { tokenNamespacesThere } from '../install/hub/token-namespaces.ts';
import type { HubServicesOptions } from './hub-services.ts';

type Settings = HubServicesOptions['settings'];

/** @throws RollcallError USAGE */
export function tokenNamespacesFlag(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  const { success } = hubValuesSchema.shape.tokenNamespaces.safeParse(names);
  if (success) return names;
  throw new RollcallError('USAGE', `--token-namespaces "${text}" is no list of names of namespaces`);
}

function bindingsOf(tokenNamespaces: readonly string[]) {
  const values = hubValuesSchema.parse({ tokenNamespaces, parts: { workloads: false } });
  return hubObjects(values).filter(
    ({ kind, metadata }) =>
      kind === 'RoleBinding' && metadata.labels?.['app.kubernetes.io/part-of'] === 'rollcall',
  );
}

/**
 * Gives the hub the right to publish tokens in the namespaces that it is told, and takes it back elsewhere.
 * @returns the settings of services, with those namespaces in them
 */
export async function applyTokenNamespaces(
  client: KubeClient,
  options: { tokenNamespaces?: readonly string[] | undefined; settings?: Settings },
): Promise<Settings> {
  const told = options.tokenNamespaces ?? [namespaces.join];
  for (const namespace of await tokenNamespacesThere(client))
    if (!told.includes(namespace))
      await client.delete(resources.roleBindings, 'rollcall-published-tokens', { namespace });
  for (const name of told) {
    const metadata = { name };
    await client
      .create(resources.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata })
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
  }
  await applyManifests(client, bindingsOf(told));
  if (options.tokenNamespaces === undefined) return options.settings;
  const approver = { tokenNamespaces: told.join(','), ...options.settings?.approver };
  return { ...options.settings, approver };
}
