import { printableJsonText } from '@rollcall/shared/text';
import { pino, type Logger as PinoLogger } from 'pino';

/** Constant messages; everything variable is a field. The names of fields stand here and nowhere else. */
export interface LogFields {
  readonly err?: Error;
  readonly service?: string;
  readonly clusterId?: string;
  readonly clusterName?: string;
  readonly seq?: number;
  readonly subject?: string;
  readonly code?: string;
  readonly reason?: string;
  readonly verb?: string;
  readonly delayMs?: number;
  readonly durationMs?: number;
  readonly count?: number;
  readonly key?: string;
  readonly object?: string;
  readonly person?: string;
  readonly port?: number;
  readonly path?: string;
  readonly state?: string;
  readonly correlation?: string;
  readonly traceId?: string;
}

type Write = (fields: LogFields, message: string) => void;

/** What our code needs of a logger. `info` is what an operator acts on. */
export interface Logger {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
  child(fields: LogFields): Logger;
}

// A key or token that gets into a field by mistake is not printed (principle 7).
const redact = [
  'jwt',
  'seed',
  'token',
  'secret',
  'credentials',
  '*.jwt',
  '*.seed',
  '*.token',
  '*.secret',
  '*.credentials',
];

function wrap(logger: PinoLogger): Logger {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    child: (fields) => wrap(logger.child(fields)),
  };
}

/**
 * JSON lines, as `kubectl logs` and collectors read them.
 * @param options.file - a file instead of stderr; lines are written at once, so that a crash loses none
 */
export function createLogger(options: { service: string; level: string; file?: string }): Logger {
  const destination = pino.destination({ dest: options.file ?? 2, sync: true, mkdir: true });
  // A full disk costs log lines, not the service.
  destination.on('error', () => undefined);
  // Much of what is logged quotes others, and people read it in a terminal.
  const write = (line: string) => void destination.write(printableJsonText(line));
  return wrap(
    pino(
      {
        level: options.level,
        base: { service: options.service },
        errorKey: 'err',
        redact,
        timestamp: pino.stdTimeFunctions.isoTime,
      },
      { write },
    ),
  );
}
