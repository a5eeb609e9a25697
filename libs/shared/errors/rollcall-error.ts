import { errorCatalogue, type ErrorCode } from './catalogue.ts';

/** A failure we expected. Anything else that is thrown is a bug in Rollcall. Compare `code`, never text. */
export class RollcallError extends Error {
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RollcallError';
    this.code = code;
  }
  /** What the reader can do about it. */
  get hint(): string {
    return errorCatalogue[this.code].hint;
  }
  /** How long whoever refused wants to be left alone, where it said so. */
  get retryAfterMs(): number | undefined {
    return undefined;
  }
  /** Whether trying again later can help without anybody changing anything. */
  get retry(): boolean {
    return errorCatalogue[this.code].retry;
  }
}

/** Turns whatever was thrown into ours, once, at the edge where it is logged or answered. */
export function toRollcallError(thrown: unknown): RollcallError {
  if (thrown instanceof RollcallError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new RollcallError('UNEXPECTED', message, { cause: thrown });
}

/** Whether `text` is a code of the catalogue: answers carry codes as text, perhaps from a newer hub. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorCatalogue, text);
}
