import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, rmSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { RollcallError } from '@rollcall/shared/errors';
import type { BackupLine } from './backup-format.ts';

export interface BackupFile {
  write(line: object): Promise<void>;
  /** Of every line so far. */
  contentDigest(): string;
  /** The last line, and everything on disk. @returns its size */
  end(): Promise<{ lines: number; sizeBytes: number }>;
  /** Takes the unfinished file away. */
  abandon(): void;
}

/**
 * A new file, for its owner only: JSON lines, compressed as gzip does, so that `zcat` shows them.
 * @throws RollcallError BACKUP_EXISTS, DISK_FULL
 */
export function createBackupFile(path: string): BackupFile {
  let fd: number;
  try {
    fd = openSync(path, 'wx', 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new RollcallError('BACKUP_EXISTS', `the file "${path}" is there already`, { cause });
    throw new RollcallError('USAGE', `cannot write the file "${path}": ${String(cause)}`, { cause });
  }
  const gzip = createGzip({ level: 3 });
  const file = gzip.pipe(createWriteStream(path, { fd, flush: true, autoClose: false }));
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  for (const stream of [gzip, file]) {
    stream.once('error', (cause: NodeJS.ErrnoException) =>
      failed.reject(
        cause.code === 'ENOSPC'
          ? new RollcallError('DISK_FULL', `no space left to write "${path}"`, { cause })
          : cause,
      ),
    );
  }
  const hash = createHash('sha256');
  let lines = 0;
  const contentDigest = () => `sha256:${hash.copy().digest('hex')}`;

  async function writeText(text: string): Promise<void> {
    lines++;
    if (!gzip.write(text)) await Promise.race([once(gzip, 'drain'), failed.promise]);
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
      await Promise.race([finished(file), failed.promise]);
      closeSync(fd);
      return { lines, sizeBytes: file.bytesWritten };
    },
    abandon() {
      gzip.destroy();
      file.destroy();
      rmSync(path, { force: true });
    },
  };
}
