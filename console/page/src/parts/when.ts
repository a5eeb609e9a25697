const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const isNowMs = 2000;

/** In one number: people compare, they do not calculate. */
function spanText(ms: number): string {
  if (ms < minuteMs) return `${Math.floor(ms / 1000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} days`;
}

/** How long ago, or in how long. A clock that is a little behind says "just now". */
export function whenText(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  if (Math.abs(ms) < isNowMs) return 'just now';
  return ms > 0 ? `${spanText(ms)} ago` : `in ${spanText(-ms)}`;
}

/** Seen from another moment than now. */
export function beforeText(atMs: number, fromMs: number): string {
  const ms = Math.max(0, fromMs - atMs);
  return ms < isNowMs ? 'just then' : `${spanText(ms)} before`;
}

/** The exact time, as the hub wrote it: date and zone stand in it. */
export const exactText = (atMs: number): string => new Date(atMs).toISOString();

const two = (number: number): string => String(number).padStart(2, '0');

/** Time of day on this machine; with the day where that is another one. */
export function clockText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
