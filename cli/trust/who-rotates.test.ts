import { expect, test, vi } from 'vitest';
import { account } from './who-rotates.ts';

vi.mock('node:os', async (original) => ({
  ...(await original<object>()),
  // As Node says it in a container that runs as such a number.
  userInfo() {
    throw new Error('uv_os_get_passwd returned ENOENT');
  },
}));

test('a number that has no account is named by the number', () => {
  expect(account()).toBe(`uid ${process.getuid?.() ?? 'unknown'}`);
});
