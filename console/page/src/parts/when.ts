const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** How long ago, in one number: people compare, they do not calculate. A clock that is behind says "now". */
export function agoText(atMs: number, nowMs: number): string {
  const ms = Math.max(0, nowMs - atMs);
  if (ms < 2000) return 'now';
  if (ms < minuteMs) return `${Math.floor(ms / 1000)} s`;
  if (ms < hourMs) return `${Math.floor(ms / minuteMs)} min`;
  if (ms < 2 * dayMs) return `${Math.floor(ms / hourMs)} h`;
  return `${Math.floor(ms / dayMs)} days`;
}

/** The exact time, as the hub wrote it. */
export const exactText = (atMs: number): string => new Date(atMs).toISOString();

const two = (number: number): string => String(number).padStart(2, '0');

/** Time of day on this machine; with the day where that is another one. */
export function clockText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const isToday = at.toDateString() === new Date(nowMs).toDateString();
  return isToday ? time : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}
