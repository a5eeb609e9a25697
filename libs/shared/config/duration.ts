const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;
const shape = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

/**
 * Reads what people write (`24h`, `1h30m`, `15s`, `7d`).
 * @returns milliseconds, or undefined when the text is no duration
 */
export function parseDurationMs(text: string): number | undefined {
  const found = shape.exec(text);
  if (!found || text === '') return undefined;
  const [, d = '0', h = '0', m = '0', s = '0'] = found;
  const sum = Number(d) * unitMs.d + Number(h) * unitMs.h + Number(m) * unitMs.m + Number(s) * unitMs.s;
  return Number.isSafeInteger(sum) ? sum : undefined;
}

/** The shortest way to write a duration: 5400000 → `1h30m`. */
export function formatDuration(durationMs: number): string {
  let restMs = Math.max(0, Math.round(durationMs / 1000) * 1000);
  let text = '';
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const count = Math.floor(restMs / unitMs[unit]);
    restMs -= count * unitMs[unit];
    if (count > 0) text += `${count}${unit}`;
  }
  return text || '0s';
}
