import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { writePrivateFile } from './private-file.ts';

/** Where a person beside the agent asks it for a new key; the agent itself only reads. Each request has an id and counts once. */
export interface RotationRequest {
  /** For messages. */
  readonly place: string;
  /** @returns undefined where nobody ever asked */
  read(): Promise<string | undefined>;
  write(id: string): Promise<void>;
}

const fileName = 'rotate-request';

export function directoryRotationRequest(directory: string): RotationRequest {
  const path = join(directory, fileName);
  return {
    place: `"${path}"`,
    async read() {
      const text = await readFile(path, 'utf8').catch(() => '');
      return text.trim() || undefined;
    },
    write: (id) => writePrivateFile(path, `${id}\n`),
  };
}

export function forgetRotationRequest(directory: string): Promise<void> {
  return rm(join(directory, fileName), { force: true });
}

const annotation = 'rollcall.dev/rotate';

/**
 * In an annotation of the Secret that the agent was installed with: its own Secret nobody else may write, so that two agents
 * cannot share one unnoticed.
 */
export function secretRotationRequest(
  client: Pick<KubeClient, 'get' | 'mergePatch'>,
  { namespace, name = 'rollcall-bootstrap' }: { namespace: string; name?: string },
): RotationRequest {
  return {
    place: `the Secret ${namespace}/${name}`,
    async read() {
      const secret = await client.get(resources.secrets, { name, namespace });
      return secret?.metadata.annotations?.[annotation];
    },
    async write(id) {
      const metadata = { annotations: { [annotation]: id } };
      await client.mergePatch(resources.secrets, name, { metadata }, { namespace });
    },
  };
}
