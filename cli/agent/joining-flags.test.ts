import { expect, test, vi } from 'vitest';
import { tokenOf } from './joining-flags.ts';

test.each([
  { name: 'in the environment', flag: undefined, want: 'from-environment' },
  { name: 'as a flag, and another in the environment', flag: 'from-flag', want: 'from-flag' },
])('a token $name is in the environment of no program that is started after', ({ flag, want }) => {
  vi.stubEnv('ROLLCALL_TOKEN', 'from-environment');
  expect(tokenOf(flag)).toBe(want);
  expect(process.env).not.toHaveProperty('ROLLCALL_TOKEN');
  vi.unstubAllEnvs();
});
