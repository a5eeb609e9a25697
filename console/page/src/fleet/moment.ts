/** As far as the plot above the handle goes. */
export const hourSeconds = 3600;
export const stepSeconds = 10;

/** Where the handle stands, in seconds from now; what is older than its reach stands at its end. */
export function handleOf(at: string, nowMs: number): number {
  if (at === '') return 0;
  const seconds = Math.round((Date.parse(at) - nowMs) / 1000);
  return Number.isNaN(seconds) ? 0 : Math.min(-stepSeconds, Math.max(-hourSeconds, seconds));
}

/** What the URL says of it; at its right end it is now. */
export function atOfHandle(seconds: number, nowMs: number): string {
  return seconds >= 0 ? '' : atOf(nowMs + seconds * 1000);
}

/** A moment as a person writes it, in the time of this machine; one that is still to come is now. */
export function atOfField(text: string, nowMs: number): string {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) || atMs >= nowMs ? '' : atOf(atMs);
}

/** The same the other way round. */
export function fieldOf(at: string): string {
  const atMs = Date.parse(at);
  if (Number.isNaN(atMs)) return '';
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Whole seconds: nobody looks more closely, and a URL is read. */
const atOf = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`;
