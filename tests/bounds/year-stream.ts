import {
  admitted,
  type AggregateId,
  type AggregateRecord,
  approved,
  clusterRecord,
  decodeEvent,
  draft,
  encodeEvent,
  type EventDraft,
  foldRecord,
  requested,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { Nkey } from '@rollcall/shared/trust';
import { expect } from 'vitest';
import { admissionStep } from '../../services/registrar/members/follow-decisions.ts';
import { aDecision, anIdentity } from '../harness/events.ts';

export const clusterId = 'id-1';

const nameOf = ({ kind, id }: AggregateId) => `${kind}.${id}`;

/** What one cluster has stored, of which only the newest of each type is kept. */
export class Stream {
  readonly #newest = new Map<string, Map<string, StoredEvent>>();
  #sequence = 0;
  bytes = 0;
  largest = 0;
  readonly counts = new Map<string, number>();

  of(aggregate: AggregateId): AggregateRecord {
    return foldRecord(aggregate, this.#newest.get(nameOf(aggregate))?.values() ?? []);
  }

  read(): ReturnType<typeof clusterRecord> {
    return clusterRecord(this.of({ kind: 'cluster', id: clusterId }));
  }

  /** @returns how many there were */
  append(drafts: readonly EventDraft[], nowMs: number): number {
    for (const one of drafts) {
      const { type } = one.definition;
      const stamp = { epoch: 1, source: '/rollcall/test', nowMs, correlation: 'ask-00000001' };
      const { subject, headers, body } = encodeEvent(one, stamp);
      const size = body.length + JSON.stringify(headers).length + subject.length;
      this.bytes += size;
      this.largest = Math.max(this.largest, size);
      this.counts.set(type, (this.counts.get(type) ?? 0) + 1);
      const message = { subject, sequence: ++this.#sequence, data: body };
      const newest = this.#newest.get(nameOf(one.aggregate)) ?? new Map<string, StoredEvent>();
      newest.set(type, decodeEvent({ ...message, header: (name) => headers[name] ?? '' }));
      this.#newest.set(nameOf(one.aggregate), newest);
    }
    return drafts.length;
  }

  /** Keys that are used once, and never asked about again. */
  forget(aggregate: AggregateId): void {
    this.#newest.delete(nameOf(aggregate));
  }
}

export function aMember(key: Nkey, nowMs: number): Stream {
  const stream = new Stream();
  const { publicKey } = key;
  const words = { reason: 'Test', message: 'a test' };
  const request = { ...anIdentity().request, key: publicKey };
  const empty = () => stream.read();
  stream.append(
    [draft(requested, empty(), { ...words, section: anIdentity({ clusterId, request }) })],
    nowMs,
  );
  const section = aDecision({
    verdict: 'approved',
    key: publicKey,
    approvedKey: publicKey,
    requestId: request.id,
  });
  stream.append([draft(approved, empty(), { ...words, section })], nowMs);
  stream.append(admissionStep({ record: stream.read(), nowMs }), nowMs);
  expect(stream.counts.get(admitted.type)).toBe(1);
  return stream;
}
