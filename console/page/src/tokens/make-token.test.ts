import { parseRegistrationToken } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { makeToken } from './make-token.ts';

test('a token that a browser makes is one that agents and the hub read alike', async () => {
  const hubId = '0123456789abcdef';
  const made = await makeToken(hubId);
  const read = parseRegistrationToken(made.text);
  expect([read.hubId, read.key.publicKey]).toEqual([hubId, made.publicKey]);
  expect((await makeToken(hubId)).text).not.toBe(made.text);
});
