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

/** No timer of Node counts further, and one that should fires at once. */
const longestPeriodMs = 24 * 86_400_000;

/** How often, or within what time, something is looked at: milliseconds. */
export const periodMs = durationMs.refine(
  (ms) => ms > 0 && ms <= longestPeriodMs,
  'must be between 1s and 24d',
);
