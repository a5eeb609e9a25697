import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { promptPassphrase } from './prompt-passphrase.ts';

let terminal: PassThrough;
beforeEach(() => {
  terminal = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => terminal });
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(terminal as never);
});
afterEach(() => vi.restoreAllMocks());

test.each([
  { name: 'Ctrl-C', typed: '\u0003', says: 'no passphrase was given' },
  { name: 'Ctrl-D', typed: '\u0004', says: 'no passphrase was given' },
  { name: 'a short one', typed: 'short\r', says: 'shorter than 12' },
])('$name at the question for a new passphrase ends in an error', async ({ typed, says }) => {
  const asked = promptPassphrase({ isNew: true });
  terminal.write(typed);
  await expect(asked).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining(says) });
});

test('a new passphrase that is typed twice is taken', async () => {
  const asked = promptPassphrase({ isNew: true });
  terminal.write('correct horse battery\r');
  await new Promise(setImmediate);
  terminal.write('correct horse battery\r');
  expect(await asked).toBe('correct horse battery');
});
