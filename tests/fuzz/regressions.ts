import { fixedKey, signedJwt } from './fixed-keys.ts';
import { bytesOf, jsonBytes } from './fuzzed-decoder.ts';

/** Inputs that a decoder once stumbled over, as short as they could be made. Others are kept as the fuzzer prints them. */
export const regressions: readonly { decoder: string; what: string; input: Uint8Array }[] = [
  {
    decoder: 'account-claims',
    what: 'claims of an account without what is of NATS in them were read as if it were there',
    input: signedJwt(fixedKey('operator', 'operator'))(
      jsonBytes({
        jti: 'j',
        iat: 1,
        iss: fixedKey('operator', 'operator').publicKey,
        sub: fixedKey('account', 'agents').publicKey,
      }),
    ),
  },
  {
    decoder: 'jwt',
    what: 'a time of issue that is an object was given as a number',
    input: signedJwt(fixedKey('account', 'signer'))(
      jsonBytes({ jti: 'j', iat: {}, iss: fixedKey('account', 'signer').publicKey, sub: 's', nats: {} }),
    ),
  },
  { decoder: 'der', what: 'the error of the library went through', input: Uint8Array.of(0x30, 0x80, 0x30) },
  {
    decoder: 'agent-state',
    what: 'the error quoted the state, which holds keys',
    // "sha256 of the text", and a text that is no JSON: whoever edits the file can make the digest anew.
    input: bytesOf('sha256:021fb596db81e6d02bf3d2586ee3981fe519f275c0ac9ca76bbcf2ebb4097d96\n{\n'),
  },
  {
    decoder: 'kubeconfig',
    what: 'brackets that nest took the parser ever longer, and then its stack',
    input: bytesOf('['.repeat(5000)),
  },
  { decoder: 'config', what: 'the same by dashes', input: bytesOf(`${'- '.repeat(20_000)}x`) },
  { decoder: 'policy-file', what: 'the same by mappings', input: bytesOf('{a: '.repeat(5000)) },
  {
    decoder: 'kube-error',
    what: 'fields of the wrong type were given as if they were right',
    input: jsonBytes({ kind: 'Status', code: 'x', reason: [], details: { causes: [null, 1] } }),
  },
];
