import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, createWriteStream, existsSync, fsyncSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { RollcallError } from '@rollcall/shared/errors';
import { openPrivate, syncDirectory } from '../up/private-files.ts';
import type { BackupLine } from './backup-format.ts';

export interface BackupFile {
  write(line: object): Promise<void>;
  /** Of every line so far. */
  contentDigest(): string;
  /** The last line, and everything on disk, under its name. @returns its size */
  end(): Promise<{ lines: number; sizeBytes: number }>;
  /** Takes the unfinished file away. */
  abandon(): void;
}

/**
 * A new file, for its owner only: JSON lines, compressed as gzip does, so that `zcat` shows them. Until it is whole and on disk it
 * is called `….partial`: nobody takes one for a backup that was cut off in the middle.
 * @throws RollcallError BACKUP_EXISTS, DISK_FULL
 */
export function createBackupFile(path: string): BackupFile {
  const refuseExisting = () => {
    if (existsSync(path)) throw new RollcallError('BACKUP_EXISTS', `the file "${path}" is there already`);
  };
  refuseExisting();
  const draft = `${path}.${process.pid}.partial`;
  let fd: number;
  try {
    fd = openPrivate(draft);
  } catch (cause) {
    throw new RollcallError('USAGE', `cannot write the file "${path}": ${String(cause)}`, { cause });
  }
  const gzip = createGzip({ level: 3 });
  const file = gzip.pipe(createWriteStream(draft, { fd, autoClose: false }));
  const failed = new AbortController();
  const { signal } = failed;
  for (const stream of [gzip, file]) {
    stream.once('error', (cause: NodeJS.ErrnoException) =>
      failed.abort(
        cause.code === 'ENOSPC'
          ? new RollcallError('DISK_FULL', `no space left to write "${path}"`, { cause })
          : cause,
      ),
    );
  }
  /** A signal keeps nothing of who waited, as a promise would of each time that the disk was slower. */
  const orFailed = (waiting: Promise<unknown>) =>
    waiting.catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error;
    });
  const hash = createHash('sha256');
  let lines = 0;
  const contentDigest = () => `sha256:${hash.copy().digest('hex')}`;

  async function writeText(text: string): Promise<void> {
    lines++;
    if (!gzip.write(text)) await orFailed(once(gzip, 'drain', { signal }));
  }

  return {
    contentDigest,
    async write(line) {
      const text = `${JSON.stringify(line)}\n`;
      hash.update(text);
      await writeText(text);
    },
    async end() {
      const last: BackupLine = { end: { lines: lines + 1, digest: contentDigest() } };
      await writeText(`${JSON.stringify(last)}\n`);
      gzip.end();
      await orFailed(finished(file, { signal }));
      fsyncSync(fd);
      closeSync(fd);
      refuseExisting();
      renameSync(draft, path);
      syncDirectory(dirname(path));
      return { lines, sizeBytes: file.bytesWritten };
    },
    abandon() {
      gzip.destroy();
      file.destroy();
      rmSync(draft, { force: true });
    },
  };
}
