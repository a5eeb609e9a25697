/**
 * The part of this topic that an agent needs: without certificates, whose DER encoder costs 10 MB of memory. Entered as
 * `@rollcall/shared/trust/keys`.
 */
export { decodeJwt, encodeJwt, jwtIssuedAt } from './jwt.ts';
export { createNkey, type Nkey, nkeyFromSeed } from './nkey.ts';
export { type SignedMessage, isSignedBy, signMessage } from './signed-message.ts';
export { hubIdOf, isHubId, keyFingerprint, parseRegistrationToken, type RegistrationToken } from './token.ts';
export { createXkey, type Xkey, xkeyFromSeed } from './xkey.ts';
