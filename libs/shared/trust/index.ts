export { createCa, issueCertificate, spkiPin } from './certificates.ts';
export { decodeJwt, encodeJwt, type JwtClaims } from './jwt.ts';
export {
  accountOfNobody,
  createNkey,
  isPublicNkey,
  type Nkey,
  nkeyFromSeed,
  verifyNkeySignature,
} from './nkey.ts';
export { isSignedBy, onlySignedBy, type SignedMessage, signMessage } from './signed-message.ts';
export {
  createRegistrationToken,
  hubIdOf,
  isHubId,
  keyFingerprint,
  noTokenId,
  parseRegistrationToken,
  type RegistrationToken,
  tokenIdOf,
} from './token.ts';
export { createXkey, type Xkey, xkeyFromSeed } from './xkey.ts';
