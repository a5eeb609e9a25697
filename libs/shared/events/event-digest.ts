import { createHash } from 'node:crypto';

/** What the next event of the aggregate names as its predecessor. */
export function digestOf(subject: string, eventId: string, body: Uint8Array): string {
  return `sha256:${createHash('sha256').update(`${subject}\n${eventId}\n`).update(body).digest('hex')}`;
}
