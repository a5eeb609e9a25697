import { randomBytes, timingSafeEqual } from 'node:crypto';

/** 256 bits: nobody guesses it. */
const secret = (): string => randomBytes(32).toString('base64url');

function isSame(given: string, own: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(own)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** The one browser that may use this console: a link that opens once, and the session that it opens. */
export interface OneTimeLink {
  /** What the link carries. */
  readonly key: string;
  /** @returns the session, the first time that the key is shown */
  open(key: string): string | undefined;
  isSession(given: string | undefined): boolean;
}

/** @param onOpen - called the one time that it opens */
export function createOneTimeLink(onOpen: () => void): OneTimeLink {
  const key = secret();
  let session: string | undefined;
  return {
    key,
    open(given) {
      if (session !== undefined || !isSame(given, key)) return undefined;
      session = secret();
      onOpen();
      return session;
    },
    isSession: (given) => session !== undefined && given !== undefined && isSame(given, session),
  };
}
