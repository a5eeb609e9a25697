import { scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, type Nkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { judgeMemberBeforeRestore } from './member-before-restore.ts';

const day = 86_400_000;
const nowMs = 1_700_000_000_000;
const backupTakenAtMs = nowMs - 3 * day;
const agentsAccount = createNkey('account').publicKey;
const [member, waiting, stranger] = [createNkey('account'), createNkey('account'), createNkey('account')] as [
  Nkey,
  Nkey,
  Nkey,
];
const key = createNkey('user').publicKey;
const epochBefore = {
  restored: { backupTakenAtMs },
  issuer: { agentsAccount, signers: { member, waiting, token: waiting, returning: waiting } },
};

interface Shown {
  readonly signer?: Nkey;
  readonly subject?: string;
  readonly name?: string;
  readonly account?: string;
  readonly issuedAtMs?: number;
  readonly endsAtMs?: number | undefined;
}
function aJwt(shown: Shown = {}): string {
  const { signer = member, subject = key, name = 'c1', account = agentsAccount } = shown;
  const issuedAtMs = shown.issuedAtMs ?? nowMs - 2 * day;
  const endsAtMs = 'endsAtMs' in shown ? shown.endsAtMs : issuedAtMs + day;
  return encodeJwt(
    {
      subject,
      name,
      nowMs: issuedAtMs,
      ...(endsAtMs === undefined ? {} : { expiresAtMs: endsAtMs }),
      nats: scopedUserClaims(account),
    },
    signer,
  );
}
const judge = (jwt: string) =>
  judgeMemberBeforeRestore(jwt, { agentKey: key, clusterId: 'c1', nowMs }, epochBefore);

test('credentials of after the backup hold, also when they have ended', () => {
  const [issuedAtMs, endsAtMs] = [nowMs - 2 * day, nowMs - day];
  expect(judge(aJwt())).toEqual({ issuedAtMs, endsAtMs });
});

test.each<{ name: string; shown: Shown; holds: boolean }>([
  { name: 'ended seven days ago', shown: { endsAtMs: nowMs - 7 * day }, holds: true },
  { name: 'ended a second more than that ago', shown: { endsAtMs: nowMs - 7 * day - 1000 }, holds: false },
  { name: 'issued when the backup was taken', shown: { issuedAtMs: backupTakenAtMs }, holds: true },
  { name: 'issued before the backup', shown: { issuedAtMs: backupTakenAtMs - 61_000 }, holds: false },
  { name: 'issued tomorrow', shown: { issuedAtMs: nowMs + day }, holds: false },
  { name: 'without an end', shown: { endsAtMs: undefined }, holds: false },
  { name: 'of another key', shown: { subject: createNkey('user').publicKey }, holds: false },
  { name: 'of another cluster', shown: { name: 'c2' }, holds: false },
  { name: 'to wait with', shown: { signer: waiting }, holds: false },
  { name: 'signed by a stranger', shown: { signer: stranger }, holds: false },
  { name: 'of another account', shown: { account: stranger.publicKey }, holds: false },
])('credentials $name: $holds', ({ shown, holds }) => {
  expect(judge(aJwt(shown)) !== undefined).toBe(holds);
});

test('a changed one holds no more, and garbage never did', () => {
  const [head, body, signature] = aJwt({ name: 'c2' }).split('.');
  const claims = Buffer.from(body ?? '', 'base64url')
    .toString('utf8')
    .replace('"c2"', '"c1"');
  expect(judge(`${head}.${Buffer.from(claims).toString('base64url')}.${signature}`)).toBeUndefined();
  for (const text of ['', 'a.b.c', 'x'.repeat(4096)]) expect(judge(text)).toBeUndefined();
});
