import { expect, test } from 'vitest';
import { createNkey, createXkey } from '@rollcall/shared/trust';
import type { Sealing } from './backup-format.ts';
import { newSealing, openKeys, sealKeys, type Opener, type Sealer } from './encrypt-keys.ts';

const secrets = { contentDigest: 'sha256:00', files: { 'hub.json': '{"seed":"very secret"}' } };
const key = createXkey();
const passphrase = { kind: 'passphrase', passphrase: 'correct horse battery' } as const;
const seals: { name: string; by: Sealer; opener: Opener; others: Opener[] }[] = [
  {
    name: 'a passphrase',
    by: passphrase,
    opener: passphrase,
    others: [
      { kind: 'passphrase', passphrase: 'correct horse batterz' },
      { kind: 'key', seed: key.seed },
    ],
  },
  {
    name: 'a key',
    by: { kind: 'key', recipient: key.publicKey },
    opener: { kind: 'key', seed: key.seed },
    others: [passphrase, { kind: 'key', seed: createXkey().seed }],
  },
];

/** Guessing is made expensive for others, not for this test. */
function quickSealing(by: Sealer): Sealing {
  const sealing = newSealing(by);
  return sealing.kind === 'passphrase' ? { ...sealing, cost: 16_384 } : sealing;
}

test.each(seals)(
  'what was sealed with $name is opened by it and by nothing else',
  ({ by, opener, others }) => {
    const sealing = quickSealing(by);
    const sealed = sealKeys(secrets, sealing, by);
    expect(JSON.stringify([sealing, sealed])).not.toContain('very secret');
    expect(openKeys(sealed, sealing, opener)).toEqual(secrets);
    for (const other of others) expect(() => openKeys(sealed, sealing, other)).toThrow(/does not open it/);
  },
);

test.each(seals)('one changed byte under $name opens nothing', ({ by, opener }) => {
  const sealing = quickSealing(by);
  const sealed = sealKeys(secrets, sealing, by);
  const bytes = Buffer.from(sealed.sealed, 'base64');
  bytes[5] = (bytes[5] ?? 0) ^ 1;
  expect(() => openKeys({ ...sealed, sealed: bytes.toString('base64') }, sealing, opener)).toThrow(
    /does not open/,
  );
});

test('a file that holds no key does not open what is sealed to one, and says so', () => {
  const by = { kind: 'key', recipient: key.publicKey } as const;
  const sealing = newSealing(by);
  const sealed = sealKeys(secrets, sealing, by);
  for (const seed of ['', 'no seed', createNkey('user').seed])
    expect(() => openKeys(sealed, sealing, { kind: 'key', seed })).toThrow(
      expect.objectContaining({ code: 'BACKUP_LOCKED' }),
    );
});

test('what somebody else has sealed to the key may be no backup at all', () => {
  const other = createXkey();
  const sealed = Buffer.from(other.seal(Buffer.from('not JSON'), key.publicKey)).toString('base64');
  const sealing = { kind: 'key', recipient: key.publicKey } as const;
  const keys = { nonce: '', sealed, sender: other.publicKey };
  expect(() => openKeys(keys, sealing, { kind: 'key', seed: key.seed })).toThrow(
    expect.objectContaining({ code: 'BACKUP_INVALID' }),
  );
});
