import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject, StoredObject } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { decodeAgentState, encodeAgentState, type KeyStore } from './key-store.ts';
import { secretData } from './put-secret.ts';

type Secret = KubeObject & { data?: Record<string, string>; type?: string };

const key = 'agent-state';

/**
 * Keeps the state in a Secret (surfaces: `rollcall-agent`). Other keys, labels and annotations of it are left alone. What somebody
 * else wrote beside the state, or an answer that got lost, keeps nothing from being saved; a state that is not the one we know of
 * is another agent's, so that two cannot share one unnoticed.
 * @param options.beside - further texts to be kept in the same write, by key
 */
export function secretKeyStore(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
  options: { namespace: string; name?: string; beside?: Readonly<Record<string, string>> },
): KeyStore {
  const { namespace, name = 'rollcall-agent', beside = {} } = options;
  const place = `the Secret ${namespace}/${name}`;
  let resourceVersion: string | undefined;
  /** States that may stand there: what was found or written last, and what was sent since and perhaps taken. */
  let ours: (string | undefined)[] = [undefined];

  async function read(): Promise<string | undefined> {
    const secret = await client.get<Secret>(resources.secrets, { name, namespace });
    resourceVersion = secret?.metadata.resourceVersion;
    return secret?.data?.[key];
  }

  /** @throws RollcallError AGENT_STATE_OTHER */
  async function readAgain(): Promise<void> {
    const found = await read();
    if (found === undefined || ours.includes(found)) return;
    resourceVersion = undefined;
    throw new RollcallError('AGENT_STATE_OTHER', `${place} has the keys of another agent by now`);
  }

  async function write(data: Readonly<Record<string, string>>): Promise<StoredObject<Secret>> {
    if (resourceVersion === undefined) await readAgain();
    const metadata = { name, namespace };
    if (resourceVersion === undefined) {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
      return client.create<Secret>(resources.secrets, secret);
    }
    const patch = { metadata: { resourceVersion }, data };
    return client.mergePatch<Secret>(resources.secrets, name, patch, { namespace });
  }

  return {
    place,
    async load() {
      const encoded = await read();
      ours = [encoded];
      return encoded === undefined
        ? undefined
        : decodeAgentState(Buffer.from(encoded, 'base64').toString('utf8'), place);
    },
    async save(state) {
      const data = secretData({ ...beside, [key]: encodeAgentState(state) });
      const encoded = data[key];
      if (!ours.includes(encoded)) ours.push(encoded);
      try {
        const saved = await write(data);
        resourceVersion = saved.metadata.resourceVersion;
        ours = [encoded];
      } catch (error) {
        // Read again before the next try: it was changed, or is gone, or the answer to what was written got lost.
        resourceVersion = undefined;
        throw error;
      }
    },
  };
}
