import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Of a file that is being written, behind its name and that of the process. */
const half = '.new';

/** Writes a file, 0600 in a directory 0700: beside, synced and renamed, so that it is never half there. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const beside = join(directory, `${basename(path)}.${process.pid}${half}`);
  try {
    const file = await open(beside, 'w', 0o600);
    try {
      await file.writeFile(text);
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
}

/** Removes what `writePrivateFile` wrote, and what a process that was killed meanwhile left beside it: the same secrets. */
export async function removePrivateFile(path: string): Promise<void> {
  const [directory, file] = [dirname(path), basename(path)];
  const isOfIt = (name: string) => name === file || (name.startsWith(`${file}.`) && name.endsWith(half));
  for (const name of await readdir(directory).catch(() => [file]))
    if (isOfIt(name)) await rm(join(directory, name), { force: true });
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
