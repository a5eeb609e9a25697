import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { rm, statfs, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A disk with a file system of its own, small enough to be full, that hangs and loses its power when told to. It takes Linux and root. */
export interface SmallDisk extends AsyncDisposable {
  readonly directory: string;
  /** Takes all that is free. */
  fill(): Promise<void>;
  /** Gives back what `fill` took. */
  makeRoom(): Promise<void>;
  /** Every write and every fsync waits, until `goOn`. */
  hang(): Promise<void>;
  goOn(): Promise<void>;
  /**
   * The power goes, and comes back: there is what the kernel had handed to the disk, and nothing that only its memory had. The file
   * system mends itself from its journal, as at any start. Nobody may have files of it open.
   */
  losePower(): Promise<void>;
}

const blockBytes = 4096;
/** Nothing is handed to the disk because of its age within the time of a test. */
const mountOptions = 'loop,commit=600';

/** What an end of ours in no order leaves behind: a frozen file system would hold its writers for ever. */
const mounted = new Set<string>();
process.on('exit', () => {
  for (const directory of mounted)
    for (const command of [
      ['fsfreeze', '-u'],
      ['umount', '-l'],
    ] as const)
      try {
        execFileSync(command[0], [command[1], directory], { stdio: 'ignore' });
      } catch {
        // It was not frozen, or is not mounted any more.
      }
});

async function mount(image: string, directory: string): Promise<SmallDisk> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await run('mount', ['-o', mountOptions, image, directory]);
  mounted.add(directory);
  const filler = join(directory, 'filler');
  return {
    directory,
    async fill() {
      const { bfree, bsize } = await statfs(directory);
      let takenBytes = 0;
      // Reserved, not written: that needs no time.
      for (let stepBytes = bfree * bsize; stepBytes >= blockBytes; stepBytes = Math.floor(stepBytes / 2)) {
        const takes = run('fallocate', ['-l', String(takenBytes + stepBytes), filler]);
        if (
          await takes.then(
            () => true,
            () => false,
          )
        )
          takenBytes += stepBytes;
      }
    },
    makeRoom: () => rm(filler, { force: true }),
    hang: async () => void (await run('fsfreeze', ['-f', directory])),
    goOn: async () => void (await run('fsfreeze', ['-u', directory])),
    async losePower() {
      // Read past the file system that is mounted on it, which writes out all that it has when it goes.
      await run('cp', ['--sparse=always', image, `${image}.left`]);
      await run('umount', [directory]);
      renameSync(`${image}.left`, image);
      await run('mount', ['-o', mountOptions, image, directory]);
    },
    async [Symbol.asyncDispose]() {
      await run('umount', ['-l', directory]);
      mounted.delete(directory);
    },
  };
}

/** @param place.image - the file that is the disk; it stays */
export async function openSmallDisk(place: {
  directory: string;
  image: string;
  sizeBytes: number;
}): Promise<SmallDisk> {
  await writeFile(place.image, '');
  await truncate(place.image, place.sizeBytes);
  // Made to the end now: the kernel would write for minutes otherwise.
  const whole = ['-E', 'lazy_itable_init=0,lazy_journal_init=0'];
  await run('mkfs.ext4', ['-q', '-F', '-m', '0', '-b', String(blockBytes), ...whole, place.image]);
  return mount(place.image, place.directory);
}

let found: Promise<string | undefined> | undefined;

async function tryOne(): Promise<string | undefined> {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-disk-'));
  try {
    const image = join(base, 'image');
    await using disk = await openSmallDisk({ directory: join(base, 'at'), image, sizeBytes: 16 * 2 ** 20 });
    await disk.hang();
    await disk.goOn();
    return undefined;
  } catch (error) {
    return String((error as { stderr?: string }).stderr ?? error).trim();
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

/** @returns why this machine lets us have none; undefined: it does */
export function whyNoSmallDisk(): Promise<string | undefined> {
  return (found ??= tryOne());
}
