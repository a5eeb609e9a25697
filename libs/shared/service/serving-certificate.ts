import { readFileSync } from 'node:fs';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from './log.ts';

/** Where a certificate and its key are (PEM), as a mounted Secret has them. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface ServingCertificate extends Disposable {
  /** The one that is shown. */
  now(): KeyPair;
}

/** The certificate of a Secret changes every few months, long before the one before ends. */
const everyMinuteMs = 60_000;

/** @throws RollcallError CONFIG_INVALID */
function readPair({ certFile, keyFile }: CertificateFiles): KeyPair {
  try {
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  } catch (cause) {
    throw new RollcallError('CONFIG_INVALID', 'the certificate that it serves with cannot be read', {
      cause,
    });
  }
}

/**
 * Reads the certificate that a server shows, and reads it again for as long as it serves.
 * @param how.show - has the server show it from now on; what it throws leaves the one before in place, until the next look
 * @throws RollcallError CONFIG_INVALID where there is none to begin with
 */
export function servingCertificate(
  files: CertificateFiles,
  {
    show,
    logger,
    lookAgainMs = everyMinuteMs,
  }: { show(pair: KeyPair): void; logger: Logger; lookAgainMs?: number },
): ServingCertificate {
  let shown = readPair(files);
  function look(): void {
    try {
      const pair = readPair(files);
      if (pair.cert === shown.cert && pair.key === shown.key) return;
      show(pair);
      shown = pair;
      logger.info({}, 'certificate replaced');
    } catch (thrown) {
      // Half of it is there: the next look finds all.
      logger.warn({ err: toRollcallError(thrown) }, 'certificate not replaced');
    }
  }
  const looking = setInterval(look, lookAgainMs).unref();
  return { now: () => shown, [Symbol.dispose]: () => clearInterval(looking) };
}
