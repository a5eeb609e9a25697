import { z } from 'zod';
import { parseDurationMs } from './duration.ts';

/** Schema of a duration in configuration: takes `30s`, gives milliseconds. */
export const durationMs = z.string().transform((text, context) => {
  const parsed = parseDurationMs(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({
    code: 'custom',
    message: `"${text}" is no duration; write for example 15s, 5m, 24h or 1h30m`,
  });
  return z.NEVER;
});
