import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { MemberIssuer, MemberKey } from '@rollcall/shared/events';
import type { MemberClaim } from '@rollcall/shared/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { judgeMemberProof } from './member-proof.ts';

const nowMs = 1_700_000_000_000;
const nowS = nowMs / 1000;
const context = { hubId: 'HUB', agentKey: 'UKEY', nowMs };
const issuer = 'https://kubernetes.default.svc.cluster.local';
const subject = 'system:serviceaccount:rollcall-agent:rollcall-agent';

function keyPair(kid: string, kind: 'RSA' | 'EC' | 'small' | 'costly' = 'RSA') {
  const { privateKey, publicKey } =
    kind === 'EC'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', {
          modulusLength: kind === 'small' ? 1024 : 2048,
          publicExponent: kind === 'costly' ? 0x80_00_00_01 : 65_537,
        });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid } as MemberKey;
  return { privateKey, jwk, alg: kind === 'EC' ? 'ES256' : 'RS256' };
}
const member = keyPair('one');
const ofEc = keyPair('ec', 'EC');
const small = keyPair('small', 'small');
const costly = keyPair('costly', 'costly');
const thief = keyPair('one');
const pin: MemberIssuer = { issuer, subject, keys: [member.jwk, ofEc.jwk, small.jwk, costly.jwk] };

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

interface Forgery {
  claims?: Record<string, unknown>;
  head?: Record<string, unknown>;
  signer?: { privateKey: KeyObject; jwk: MemberKey; alg: string };
  signature?: (text: string) => string;
  keys?: MemberKey[];
}

function aProof({
  claims,
  head,
  signer = member,
  signature,
  keys = [signer.jwk],
}: Forgery = {}): MemberClaim {
  const text = [
    encode({ alg: signer.alg, kid: signer.jwk.kid, ...head }),
    encode({
      iss: issuer,
      sub: subject,
      aud: ['rollcall:HUB:UKEY'],
      iat: nowS,
      nbf: nowS,
      exp: nowS + 600,
      ...claims,
    }),
  ].join('.');
  const key = { key: signer.privateKey, dsaEncoding: 'ieee-p1363' } as const;
  const signed = signature?.(text) ?? sign('sha256', Buffer.from(text), key).toString('base64url');
  return { token: `${text}.${signed}`, keys };
}

/** The classic confusion: the public key as the secret of an HMAC. */
const hmac = (text: string) =>
  createHmac('sha256', JSON.stringify(member.jwk)).update(text).digest('base64url');

test.each<{ name: string; proof: Forgery }>([
  { name: 'a token of the member', proof: {} },
  { name: 'one signed with P-256', proof: { signer: ofEc } },
  { name: 'the audience as a text', proof: { claims: { aud: 'rollcall:HUB:UKEY' } } },
  { name: 'a minute late', proof: { claims: { exp: nowS - 60 } } },
])('$name: it is the same member', ({ proof }) => {
  expect(judgeMemberProof(aProof(proof), pin, context)).toMatchObject({ sameMember: true });
});

test.each<{ name: string; proof: Forgery; want: RegExp }>([
  { name: 'more than a minute late', proof: { claims: { exp: nowS - 61 } }, want: /expired/ },
  { name: 'from the future', proof: { claims: { nbf: nowS + 61, exp: nowS + 660 } }, want: /not valid yet/ },
  { name: 'without an end', proof: { claims: { exp: undefined } }, want: /no end/ },
  { name: 'for a year', proof: { claims: { exp: nowS + 31_536_000 } }, want: /too long/ },
  { name: 'for another hub', proof: { claims: { aud: ['rollcall:HUB2:UKEY'] } }, want: /another hub/ },
  { name: 'for another key', proof: { claims: { aud: ['rollcall:HUB:UOTHER'] } }, want: /another key/ },
  { name: 'for the API server', proof: { claims: { aud: [issuer] } }, want: /another hub/ },
  {
    name: 'for us and for others',
    proof: { claims: { aud: ['rollcall:HUB:UKEY', issuer] } },
    want: /another hub/,
  },
  { name: 'of another issuer', proof: { claims: { iss: 'https://evil' } }, want: /another issuer/ },
  {
    name: 'of another ServiceAccount',
    proof: { claims: { sub: 'system:serviceaccount:default:default' } },
    want: /another ServiceAccount/,
  },
  { name: 'of a person', proof: { claims: { sub: 'anna' } }, want: /not that of a ServiceAccount/ },
  { name: "signed by a thief's key of the same name", proof: { signer: thief }, want: /none of the keys/ },
  { name: 'by a key that nobody pinned', proof: { head: { kid: 'new' } }, want: /none of the keys/ },
  { name: 'alg none', proof: { head: { alg: 'none' }, signature: () => '' }, want: /none of the keys/ },
  { name: 'alg none, signed', proof: { head: { alg: 'none' } }, want: /none of the keys/ },
  {
    name: 'HS256 with the public key',
    proof: { head: { alg: 'HS256' }, signature: hmac },
    want: /none of the keys/,
  },
  { name: 'RS256 by name, HMAC in truth', proof: { signature: hmac }, want: /none of the keys/ },
  {
    name: 'an EC key said to be RSA',
    proof: { signer: ofEc, head: { alg: 'RS256' } },
    want: /none of the keys/,
  },
  { name: 'an RSA key of 1024 bits', proof: { signer: small }, want: /none of the keys/ },
  { name: 'an RSA key with a large exponent', proof: { signer: costly }, want: /none of the keys/ },
])('$name proves nothing: $want', ({ proof, want }) => {
  expect(judgeMemberProof(aProof(proof), pin, context)).toMatchObject({
    sameMember: false,
    problem: expect.stringMatching(want),
  });
});

test('what is pinned decides, and not the keys that a request brings along', () => {
  const verdict = judgeMemberProof(aProof({ signer: thief }), pin, context);
  expect(verdict?.sameMember).toBe(false);
  expect(verdict?.shown?.keys).toEqual([thief.jwk]);
});

test('without a pin nothing is proven, and what was shown can be pinned; what does not hold cannot', () => {
  const first = judgeMemberProof(aProof(), undefined, context);
  expect(first).toMatchObject({ sameMember: false, shown: { issuer, subject, keys: [member.jwk] } });
  expect(
    judgeMemberProof(aProof({ signer: thief, keys: [member.jwk] }), undefined, context)?.shown,
  ).toBeUndefined();
  expect(judgeMemberProof(undefined, pin, context)).toBeUndefined();
});

test('a token that was changed anywhere proves nothing, and nothing throws', () => {
  const { token, keys } = aProof();
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, letter) => {
      fc.pre(token[at] !== letter);
      const changed = `${token.slice(0, at)}${letter}${token.slice(at + 1)}`;
      // The last letter of a base64url text has bits that nobody reads.
      fc.pre(
        !Buffer.from(changed.split('.')[2] ?? '', 'base64url').equals(
          Buffer.from(token.split('.')[2] ?? '', 'base64url'),
        ) || at < token.lastIndexOf('.'),
      );
      expect(judgeMemberProof({ token: changed, keys }, pin, context)?.sameMember).toBe(false);
    }),
    { numRuns: 300 },
  );
});
