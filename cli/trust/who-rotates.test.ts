import { expect, test } from 'vitest';
import { account } from './who-rotates.ts';

test('a number that has no account is named by the number', () => {
  // As Node says it in a container that runs as such a number.
  const ask = () => {
    throw new Error('uv_os_get_passwd returned ENOENT');
  };
  expect(account(ask)).toBe(`uid ${process.getuid?.() ?? 'unknown'}`);
});
