import type { KubeClient, KubeObject, StoredObject } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { decodeAgentState, encodeAgentState, type KeyStore } from './key-store.ts';
import { secretData } from './put-secret.ts';

type Secret = KubeObject & { data?: Record<string, string>; type?: string };

const key = 'agent-state';

/**
 * Keeps the state in a Secret (surfaces: `rollcall-agent`). Other keys, labels and annotations of it are left alone; a Secret
 * that somebody else wrote since is a conflict, so that two agents cannot share one unnoticed.
 * @param options.beside - further texts to be kept in the same write, by key
 */
export function secretKeyStore(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
  options: { namespace: string; name?: string; beside?: Readonly<Record<string, string>> },
): KeyStore {
  const { namespace, name = 'rollcall-agent', beside = {} } = options;
  const place = `the Secret ${namespace}/${name}`;
  let resourceVersion: string | undefined;

  async function read(): Promise<StoredObject<Secret> | undefined> {
    const secret = await client.get<Secret>(resources.secrets, { name, namespace });
    resourceVersion = secret?.metadata.resourceVersion;
    return secret;
  }

  return {
    place,
    async load() {
      const encoded = (await read())?.data?.[key];
      return encoded === undefined
        ? undefined
        : decodeAgentState(Buffer.from(encoded, 'base64').toString('utf8'), place);
    },
    async save(state) {
      const data = secretData({ ...beside, [key]: encodeAgentState(state) });
      if (resourceVersion === undefined) await read();
      const saved =
        resourceVersion === undefined
          ? await client.create<Secret>(resources.secrets, {
              apiVersion: 'v1',
              kind: 'Secret',
              metadata: { name, namespace },
              type: 'Opaque',
              data,
            })
          : await client.mergePatch<Secret>(
              resources.secrets,
              name,
              { metadata: { resourceVersion }, data },
              { namespace },
            );
      resourceVersion = saved.metadata.resourceVersion;
    },
  };
}
