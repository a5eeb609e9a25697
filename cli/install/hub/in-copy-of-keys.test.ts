import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withCopyOf } from './in-copy-of-keys.ts';

test.each(['keys', 'keys/', 'not-there', 'not/there/yet/'])(
  'a copy of "%s" has what is in it, and is gone afterwards',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-copy-'));
    mkdirSync(join(folder, 'keys', 'nats'), { recursive: true });
    writeFileSync(join(folder, 'keys', 'nats', 'one'), 'secret');
    const before = readdirSync(folder);
    const copied = await withCopyOf(`${folder}/${name}`, async (copy) => {
      writeFileSync(join(copy, 'made'), 'in the copy');
      const file = join(copy, 'nats', 'one');
      return { copy, has: existsSync(file) && readFileSync(file, 'utf8') };
    });
    expect(copied.has).toBe(name.startsWith('keys') && 'secret');
    expect(existsSync(copied.copy)).toBe(false);
    expect(readdirSync(folder)).toEqual(before);
  },
);
