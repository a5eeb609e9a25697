import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hubKeys } from './hub-keys.ts';
import { hubValuesSchema } from './hub-values.ts';

test('no other hub is made where a restore was killed while it put one in place', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-hub-keys-'));
  const make = (name: string) =>
    hubKeys(join(folder, name), {
      hosts: ['127.0.0.1'],
      nats: hubValuesSchema.parse({}).nats,
      withWebSocket: false,
    });
  make('restored');
  const half = join(folder, 'half');
  mkdirSync(join(half, 'restoring'), { recursive: true });
  // That file comes last.
  for (const name of readdirSync(join(folder, 'restored')))
    renameSync(join(folder, 'restored', name), join(half, name === 'hub.json' ? 'restoring/hub.json' : name));
  expect(() => make('half')).toThrow(expect.objectContaining({ code: 'RESTORE_UNFINISHED' }));
  rmSync(folder, { recursive: true, force: true });
});
