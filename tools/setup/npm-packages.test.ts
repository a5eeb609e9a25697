import { expect, test } from 'vitest';
import { isSame } from './npm-packages.mjs';

const zod = { 'node_modules/zod': { version: '4.0.0', integrity: 'sha512-a' } };
const root = { '': { version: '0.1.0' } };

test.each([
  { name: 'the same packages', locked: { ...root, ...zod }, installed: zod, want: true },
  {
    name: 'another version',
    locked: zod,
    installed: { 'node_modules/zod': { version: '4.0.1', integrity: 'sha512-b' } },
    want: false,
  },
  {
    name: 'other content',
    locked: zod,
    installed: { 'node_modules/zod': { version: '4.0.0', integrity: 'sha512-b' } },
    want: false,
  },
  { name: 'a package is missing', locked: zod, installed: {}, want: false },
  { name: 'a package is left from before', locked: {}, installed: zod, want: false },
  {
    name: 'one for other machines is missing',
    locked: { 'node_modules/x-win32': { version: '1.0.0', optional: true } },
    installed: {},
    want: true,
  },
  {
    name: 'a workspace folder is no package',
    locked: { cli: { version: '0.1.0' } },
    installed: {},
    want: true,
  },
])('isSame: $name → $want', ({ locked, installed, want }) => {
  expect(isSame(locked, installed)).toBe(want);
});
