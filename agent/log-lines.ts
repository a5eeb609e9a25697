import type { LogFields, Logger } from '@rollcall/shared/service';
import { printableJsonText } from '@rollcall/shared/text';

const levels = { debug: 20, info: 30, warn: 40, error: 50 } as const;
type Level = keyof typeof levels;

/**
 * JSON lines with the fields that our services log, without their logging library: it is 9 MB, and an agent has 65 MB.
 * @param least - `silent` writes nothing
 */
export function createLogLines(
  least: Level | 'silent',
  write: (line: string) => void,
  base: LogFields = {},
): Logger {
  const at =
    (level: Level) =>
    (fields: LogFields, message: string): void => {
      if (least === 'silent' || levels[level] < levels[least]) return;
      const { err, ...rest } = fields;
      const error =
        err === undefined ? {} : { err: { type: err.name, message: err.message, stack: err.stack } };
      const line = { level: levels[level], time: new Date().toISOString(), ...base, ...rest, ...error };
      write(`${printableJsonText(JSON.stringify({ ...line, msg: message }))}\n`);
    };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => createLogLines(least, write, { ...base, ...fields }),
  };
}
