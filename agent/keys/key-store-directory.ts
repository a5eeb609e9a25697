import { readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { decodeAgentState, encodeAgentState, type KeyStore } from './key-store.ts';
import type { Uninstall } from '../install/uninstall-steps.ts';
import { forgetRotationRequest } from './rotation-request.ts';
import { removePrivateFile, writePrivateFile } from './private-file.ts';

const fileName = 'agent-state';
/** Name of the file beside it that holds the kubeconfig for the hub. */
export const hubKubeconfigFile = 'hub.kubeconfig';

/**
 * Keeps the state in one file, 0600 in a directory 0700. A file that came there while this agent began with none is of another one,
 * so that two that are started at once do not share a place unnoticed.
 */
export function directoryKeyStore(directory: string): KeyStore {
  const path = join(directory, fileName);
  const place = `"${path}"`;
  let isOurs = false;
  return {
    place,
    async load() {
      const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return undefined;
        throw new RollcallError('AGENT_STATE_INVALID', `cannot read ${place}: ${cause.message}`, { cause });
      });
      isOurs = text !== undefined;
      return text === undefined ? undefined : decodeAgentState(text, place);
    },
    async save(state) {
      try {
        await writePrivateFile(path, encodeAgentState(state), { mustBeNew: !isOurs });
        isOurs = true;
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
        throw new RollcallError('AGENT_STATE_OTHER', `${place} has the keys of another agent by now`, {
          cause,
        });
      }
    },
  };
}

/** An agent in the foreground leaves nothing but its keys; the next one makes new ones. */
export function forgetDirectory(directory: string): Uninstall {
  return {
    what: `"${directory}"`,
    beforeGoodbye: () => removePrivateFile(join(directory, hubKubeconfigFile)),
    async afterGoodbye() {
      for (const name of [fileName, hubKubeconfigFile]) await removePrivateFile(join(directory, name));
      await forgetRotationRequest(directory);
      // Only if there is nothing of others in it.
      await rmdir(directory).catch(() => undefined);
    },
  };
}
