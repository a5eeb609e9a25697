import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { decodeAgentState, encodeAgentState, type KeyStore } from './key-store.ts';

const fileName = 'agent-state';

/** Keeps the state in one file, 0600 in a directory 0700: written beside, synced and renamed, so that it is never half there. */
export function directoryKeyStore(directory: string): KeyStore {
  const path = join(directory, fileName);
  return {
    place: `"${path}"`,
    async load() {
      const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') return undefined;
        throw new RollcallError('AGENT_STATE_INVALID', `cannot read "${path}": ${cause.message}`, { cause });
      });
      return text === undefined ? undefined : decodeAgentState(text, `"${path}"`);
    },
    async save(state) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const beside = `${path}.${process.pid}.new`;
      try {
        const file = await open(beside, 'w', 0o600);
        try {
          await file.writeFile(encodeAgentState(state));
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(beside, path);
      } catch (error) {
        await rm(beside, { force: true });
        throw error;
      }
      await syncDirectory(directory);
    },
  };
}

/** Without it the rename itself may be lost with the power. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
