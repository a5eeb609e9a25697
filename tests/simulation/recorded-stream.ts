import { readFileSync } from 'node:fs';
import type { StreamMessage } from '@rollcall/shared/bus';
import { decodeEvent, type StoredEvent } from '@rollcall/shared/events';

interface Recorded {
  readonly sequence: number;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Byte for byte, or the digest that the next event names would be another. */
  readonly body: string;
}

/** A message of stream EVENTS as a line of a recorded stream. */
export function asRecorded({ sequence, subject, headers, data }: StreamMessage): string {
  const kept = Object.fromEntries(
    Object.entries(headers).filter(([name]) => /^(ce-|content-type$|traceparent$)/.test(name)),
  );
  const recorded: Recorded = { sequence, subject, headers: kept, body: new TextDecoder().decode(data) };
  return JSON.stringify(recorded);
}

/** The events of a recorded stream, read as this version reads them. */
export function readRecorded(path: string | URL): StoredEvent[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { sequence, subject, headers, body } = JSON.parse(line) as Recorded;
      const header = (name: string) => headers[name] ?? '';
      return decodeEvent({ subject, sequence, header, data: new TextEncoder().encode(body) });
    });
}
