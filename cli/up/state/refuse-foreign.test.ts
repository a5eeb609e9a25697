import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { refuseForeign } from './refuse-foreign.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rollcall-state-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function put(path: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), '');
}

test.each(['letters.txt', '.ssh/id', 'logs/mine.log', 'run/it', 'kubernetes/notes.md', 'nats/server.go'])(
  'a directory with %s in it is not deleted',
  (path) => {
    put(path);
    expect(() => refuseForeign(directory)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringContaining('it is not deleted') }),
    );
  },
);

test.each(['up.lock', 'restoring/hub.json', 'before-restore-2026/hub.json', 'identities/setup.json'])(
  'what a hub left, as %s, is',
  (path) => {
    put(path);
    expect(() => refuseForeign(directory)).not.toThrow();
  },
);

test('nothing is no reason to refuse', () => {
  expect(() => refuseForeign(directory)).not.toThrow();
  expect(() => refuseForeign(join(directory, 'nowhere'))).not.toThrow();
});
