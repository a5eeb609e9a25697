import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { checkDiskSpace } from './disk-space.ts';

test('a full disk is told before anything is started', () => {
  const full = () => checkDiskSpace('/state', 255 * 1024 * 1024);
  expect(full).toThrow(
    expect.objectContaining({ code: 'DISK_FULL', message: expect.stringContaining('255 MiB are free') }),
  );
  expect(() => checkDiskSpace('/state', 256 * 1024 * 1024)).not.toThrow();
  expect(() => checkDiskSpace(tmpdir())).not.toThrow();
});
