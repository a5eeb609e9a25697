import { link, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Of a file that is being written, behind its name and that of the process. */
const half = '.new';

/**
 * Writes a file, 0600 in a directory 0700: beside, synced and renamed, so that it is never half there. What somebody else has put
 * there, a symbolic link to a file of others above all, is never written through.
 * @param options.mustBeNew - fails with EEXIST where there is such a file
 */
export async function writePrivateFile(
  path: string,
  text: string,
  { mustBeNew = false } = {},
): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const beside = join(directory, `${basename(path)}.${process.pid}${half}`);
  try {
    // Of a process that was killed, or a link: the name goes, not what it leads to.
    await rm(beside, { force: true });
    const file = await open(beside, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await (mustBeNew ? moveToNew(beside, path) : rename(beside, path));
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await syncDirectory(directory);
}

async function moveToNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // Not every file system has links; there the last of two wins, as it did.
    return rename(from, to);
  }
  await rm(from);
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
