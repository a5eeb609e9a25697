import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { hubKubeconfigFile } from '../keys/key-store-directory.ts';
import { writePrivateFile } from '../keys/private-file.ts';
import { putSecret } from '../keys/put-secret.ts';

/** Where the kubeconfig for the hub is put, for those who use it; the agent itself does not. */
export interface HubAccessStore {
  /** For messages. */
  readonly place: string;
  write(access: { kubeconfig: string; namespace: string }): Promise<void>;
  /** Nothing to remove is fine. */
  remove(): Promise<void>;
}

export function directoryHubAccess(directory: string): HubAccessStore {
  const path = join(directory, hubKubeconfigFile);
  return {
    place: `"${path}"`,
    write: ({ kubeconfig }) => writePrivateFile(path, kubeconfig),
    remove: () => rm(path, { force: true }),
  };
}

/** The Secret `rollcall-hub-kubeconfig` (surfaces): keys `kubeconfig` and `namespace`. Others of it are left alone. */
export function secretHubAccess(
  client: Pick<KubeClient, 'create' | 'mergePatch' | 'delete'>,
  { namespace, name = 'rollcall-hub-kubeconfig' }: { namespace: string; name?: string },
): HubAccessStore {
  return {
    place: `the Secret ${namespace}/${name}`,
    write: ({ kubeconfig, namespace: ofCluster }) =>
      putSecret(client, { namespace, name }, { kubeconfig, namespace: ofCluster }),
    remove: async () => void (await client.delete(resources.secrets, name, { namespace })),
  };
}
