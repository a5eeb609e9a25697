import { statfsSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';

/** etcd reserves 128 MB for its log before it answers, and ends with a stack trace when it cannot; the rest is for events. */
const neededBytes = 256 * 1024 * 1024;

function inMib(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}

function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/**
 * Looks before anything is started.
 * @throws RollcallError DISK_FULL saying how much there is and how much is needed
 */
export function checkDiskSpace(directory: string, freeBytes = freeBytesOf(directory)): void {
  if (freeBytes >= neededBytes) return;
  throw new RollcallError(
    'DISK_FULL',
    `${inMib(freeBytes)} MiB are free for "${directory}"; a hub needs ${inMib(neededBytes)} MiB to start`,
  );
}
