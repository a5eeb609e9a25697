import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, type Stats, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { stateDirectory } from './state-directory.ts';
import { checkStatePlace, whyOthersMayReplace } from './state-place.ts';

const me = { uid: 1000, gid: 1000 };
const stats = (mode: number, uid = 0, gid = 0) => ({ mode: 0o40_000 + mode, uid, gid }) as Stats;

test.each([
  { name: 'only its owner may write to', directory: stats(0o755), want: 'nobody' },
  { name: 'everybody may write to', directory: stats(0o777), want: 'others may write there (mode 777)' },
  {
    name: 'a group of others may write to',
    directory: stats(0o775, 1000, 50),
    want: 'others may write there (mode 775)',
  },
  { name: 'my own group may write to', directory: stats(0o775, 1000, 1000), want: 'nobody' },
  { name: 'is sticky, with nothing yet', directory: stats(0o1777), want: 'nobody' },
  { name: 'is sticky, with mine', directory: stats(0o1777), child: stats(0o700, 1000), want: 'nobody' },
  { name: 'is sticky, with root’s', directory: stats(0o1777), child: stats(0o755, 0), want: 'nobody' },
  {
    name: 'is sticky, with that of somebody else',
    directory: stats(0o1777),
    child: stats(0o700, 1001),
    want: 'what is in it on the way there is of somebody else (user 1001)',
  },
])('a directory on the way that $name → $want', ({ directory, child, want }) => {
  expect(whyOthersMayReplace({ directory, child }, me) ?? 'nobody').toBe(want);
});

const base = mkdtempSync(join(tmpdir(), 'rollcall-place-'));
afterEach(() => {
  vi.unstubAllEnvs();
  for (const name of ['open', 'link', 'mine']) rmSync(join(base, name), { recursive: true, force: true });
});

test('a state below a directory that others may write to is refused, also by a link and before there is one', () => {
  const open = join(base, 'open');
  const state = join(open, 'deep', '.rollcall');
  mkdirSync(open);
  chmodSync(open, 0o777);
  const refused = { code: 'CONFIG_INVALID', message: expect.stringContaining(`chmod go-w '${open}'`) };
  expect(() => checkStatePlace(state)).toThrow(expect.objectContaining(refused));
  vi.stubEnv('ROLLCALL_HOME', state);
  expect(stateDirectory()).toBe(state);
  mkdirSync(state, { recursive: true });
  expect(() => stateDirectory()).toThrow(expect.objectContaining(refused));
  const link = join(base, 'link');
  symlinkSync(state, link);
  expect(() => checkStatePlace(link)).toThrow(expect.objectContaining(refused));
  chmodSync(open, 0o755);
  expect(() => checkStatePlace(link)).not.toThrow();
});

test.runIf(process.geteuid?.() === 0)('one in a sticky directory that somebody else made is refused', () => {
  const mine = join(base, 'mine');
  mkdirSync(mine);
  chmodSync(mine, 0o1777);
  const state = join(mine, '.rollcall');
  mkdirSync(state);
  expect(() => checkStatePlace(state)).not.toThrow();
  chownSync(state, 12_345, 12_345);
  expect(() => checkStatePlace(state)).toThrow(/of somebody else \(user 12345\)/);
});
