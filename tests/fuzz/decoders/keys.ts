import { sign, verify, X509Certificate } from 'node:crypto';
import {
  decodeJwt,
  isPublicNkey,
  nkeyFromSeed,
  parseRegistrationToken,
  verifyNkeySignature,
} from '@rollcall/shared/trust';
import { jwtIssuedAt } from '@rollcall/shared/trust/keys';
import type { MemberIssuer, MemberKey } from '@rollcall/shared/events';
import type { MemberClaim } from '@rollcall/shared/protocol';
import { areCas } from '../../../libs/shared/protocol/hub-cas.ts';
import { keysOf } from '../../../agent/facts/member-proof.ts';
import { fromDer, toDer } from '../../../libs/shared/trust/x509-der.ts';
import { judgeMemberProof } from '../../../services/registrar/members/member-proof.ts';
import { caPem, fixedEcKey, fixedKey, leafPem, signedJwt } from '../fixed-keys.ts';
import { bytesOf, type FuzzedDecoder, jsonBytes, must, textOf } from '../fuzzed-decoder.ts';

const nowMs = 1_700_000_000_000;

const goodToken = 'rc1.0123456789abcdef.0123456789abcdefghjkmnpqrs';
const tokenText: FuzzedDecoder = {
  name: 'token',
  form: 'text',
  words: ['rc1', '.', '0', 'o', 'I', 'l', 'u', ' ', '\n'],
  samples: [goodToken, goodToken.toUpperCase().replace('RC1', 'rc1'), `  ${goodToken}\n`].map(bytesOf),
  decode(input) {
    const { hubId } = parseRegistrationToken(textOf(input));
    must(/^[0-9a-hjkmnp-tv-z]{16}$/.test(hubId), 'the id of a hub is 16 plain characters');
    return 'taken';
  },
};

const signer = fixedKey('account', 'signer');
const user = fixedKey('user', 'user');
const jwtClaims = { jti: 'j', iat: 1, iss: signer.publicKey, sub: user.publicKey, nats: {} };

const jwt: FuzzedDecoder = {
  name: 'jwt',
  form: 'json',
  samples: [
    jsonBytes({ ...jwtClaims, name: 'id-1', nats: { type: 'user', version: 2 } }),
    jsonBytes({ ...jwtClaims, exp: 2, aud: 'server' }),
  ],
  seal: signedJwt(signer),
  decode(input) {
    const text = textOf(input);
    const issuedAt = jwtIssuedAt(text);
    const claims = decodeJwt(text);
    if (!claims) return 'refused';
    must(claims.iss === signer.publicKey, 'who is named has signed it');
    must(claims.iat === issuedAt, 'the time is the one that was signed');
    must(typeof claims.iat === 'number' && typeof claims.sub === 'string', 'claims have their types');
    must(typeof claims.nats === 'object' && claims.nats !== null, 'claims of NATS are an object');
    return 'taken';
  },
};

const nkey: FuzzedDecoder = {
  name: 'nkey',
  form: 'text',
  words: ['U', 'A', 'SU', 'SA', 'X', '1', '0', '='],
  samples: [user.publicKey, signer.publicKey, user.seed, signer.seed].map(bytesOf),
  decode(input) {
    const text = textOf(input);
    const isKey = isPublicNkey(text, 'user');
    if (isKey) must(/^U[A-Z2-7]{55}$/.test(text), 'a user key has one spelling');
    must(!verifyNkeySignature(text, 'data', 'A'.repeat(86)), 'a signature of zeros is none');
    return nkeyFromSeed(text).seed.length === 58 ? 'taken' : 'refused';
  },
  mayThrow: (thrown) => thrown instanceof Error && thrown.message === 'not an NKey seed',
};

const cas: FuzzedDecoder = {
  name: 'certificates',
  form: 'text',
  words: ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----', '-----', '\n', 'MII', '='],
  samples: [
    caPem,
    caPem + caPem,
    leafPem,
    caPem + leafPem,
    '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
  ].map(bytesOf),
  decode(input) {
    const text = textOf(input);
    if (!areCas(text)) return 'refused';
    must(!text.includes('PRIVATE KEY'), 'a private key is no CA');
    must((text.match(/BEGIN/g) ?? []).length <= 8, 'there are not too many');
    return 'taken';
  },
};

const certificateDer: FuzzedDecoder = {
  name: 'der',
  form: 'bytes',
  samples: [
    new X509Certificate(caPem).raw,
    new X509Certificate(leafPem).raw,
    Uint8Array.of(0x30, 0x80, 0x30, 0x80, 0, 0, 0, 0),
  ],
  decode(input) {
    const node = fromDer(Buffer.from(input));
    toDer(node);
    return 'taken';
  },
  mayThrow: (thrown) => thrown instanceof TypeError && thrown.message === 'the bytes are no DER',
};

const ec = fixedEcKey('member');
const memberJwk = { ...ec.publicKey.export({ format: 'jwk' }), kid: 'one' } as MemberKey;
const subject = 'system:serviceaccount:rollcall-agent:rollcall-agent';
const issuer = 'https://kubernetes.default.svc';
const context = { hubId: 'HUB', agentKey: 'UKEY', nowMs };
const pin: MemberIssuer = { issuer, subject, keys: [memberJwk] };
const nowS = nowMs / 1000;
const claims = { iss: issuer, sub: subject, aud: ['rollcall:HUB:UKEY'], iat: nowS, exp: nowS + 600 };

/** Signed by the member: what its API server would sign, and could be made to sign. */
function memberClaim(body: Uint8Array): Uint8Array {
  const head = Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'one' })).toString('base64url');
  const signed = `${head}.${Buffer.from(body).toString('base64url')}`;
  const key = { key: ec.privateKey, dsaEncoding: 'ieee-p1363' } as const;
  const signature = sign('sha256', Buffer.from(signed), key).toString('base64url');
  return jsonBytes({ token: `${signed}.${signature}`, keys: [memberJwk] });
}

function isSignedByMember(token: string): boolean {
  const [head, body, signature = ''] = token.split('.');
  const key = { key: ec.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  return verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url'));
}

const memberProof: FuzzedDecoder = {
  name: 'member-proof',
  form: 'json',
  samples: [claims, { ...claims, nbf: nowS, aud: 'rollcall:HUB:UKEY' }, { ...claims, exp: nowS - 600 }].map(
    jsonBytes,
  ),
  seal: memberClaim,
  decode(input) {
    let claim: MemberClaim;
    try {
      claim = JSON.parse(textOf(input)) as MemberClaim;
    } catch {
      return 'refused';
    }
    // What is not of this shape is refused by decodeRequest before.
    const isShaped =
      typeof claim?.token === 'string' &&
      Array.isArray(claim.keys) &&
      claim.keys.every((key: unknown) => typeof key === 'object' && key !== null);
    if (!isShaped || judgeMemberProof(claim, pin, context)?.sameMember !== true) return 'refused';
    must(isSignedByMember(claim.token), 'the pinned key has signed it');
    const said = JSON.parse(
      Buffer.from(claim.token.split('.')[1] ?? '', 'base64url').toString(),
    ) as typeof claims;
    must([said.aud].flat().join() === 'rollcall:HUB:UKEY', 'it is for this hub and this key');
    must(
      said.exp >= nowS - 60 && said.iss === issuer && said.sub === subject,
      'it is of this member, and of now',
    );
    return 'taken';
  },
};

const jwks: FuzzedDecoder = {
  name: 'jwks',
  form: 'json',
  maxBytes: 1_048_576,
  samples: [
    jsonBytes({
      keys: [
        { ...memberJwk, use: 'sig', alg: 'ES256' },
        { kid: 'rsa', kty: 'RSA', n: 'AA', e: 'AQAB' },
      ],
    }),
  ],
  decode(input) {
    const keys = keysOf(textOf(input));
    must(keys.length <= 8, 'no more keys than the hub takes');
    return keys.length > 0 ? 'taken' : 'refused';
  },
};

/** Tokens, keys, certificates and what they sign. */
export const keyDecoders: readonly FuzzedDecoder[] = [
  tokenText,
  jwt,
  nkey,
  cas,
  certificateDer,
  memberProof,
  jwks,
];
