import { createXkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { sealerOf } from './backup.ts';

const { publicKey: recipient } = createXkey();

test('a public key with a letter wrong is refused before anything is read from the hub', async () => {
  expect(await sealerOf({ to: recipient })).toEqual({ kind: 'key', recipient });
  const last = recipient.endsWith('A') ? 'B' : 'A';
  await expect(sealerOf({ to: `${recipient.slice(0, -1)}${last}` })).rejects.toMatchObject({ code: 'USAGE' });
});
