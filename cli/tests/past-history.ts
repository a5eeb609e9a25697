import {
  approved,
  decisionSchema,
  decodeEvent,
  draft,
  encodeEvent,
  type EventDraft,
  identitySchema,
  requested,
} from '@rollcall/shared/events';
import type { EventLog } from '@rollcall/shared/bus';

export const startMs = Date.UTC(2026, 9, 22);
const what = { reason: 'R', message: 'm' };
const by = { policy: 'default', generation: 1, rule: 'all' };

/** A request, and its approval by policy `default`. */
export function join(index: number): EventDraft[] {
  const request = {
    id: `request-${index}`,
    key: `key-${index}`,
    keyFingerprint: 'f',
    tokenId: 'token',
    tokenName: 'rollcall-join/token',
    labels: {},
    claimed: { labels: {} },
    requestedAtMs: startMs + index,
  };
  const on = { aggregate: { kind: 'cluster', id: `cluster-${index}` }, head: undefined } as const;
  const names = { clusterId: on.aggregate.id, clusterName: `edge-${index}` };
  const identity = identitySchema.parse({ state: 'requested', ...names, request });
  const decision = decisionSchema.parse({
    verdict: 'approved',
    requestId: request.id,
    key: request.key,
    approvedKey: request.key,
    clusterName: names.clusterName,
    namespace: names.clusterName,
    heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
    by,
    ...what,
    decidedAtMs: startMs + index,
  });
  return [
    draft(requested, on, { ...what, section: identity }),
    draft(approved, on, { by, ...what, section: decision }),
  ];
}

/** A history that was written in this order, a millisecond after the other. */
export function logOf(drafts: readonly EventDraft[]): Pick<EventLog, 'scan'> {
  const all = drafts.map((one, index) => {
    const stamp = { epoch: 1, source: '/test', nowMs: startMs + index, correlation: 'c' };
    const { subject, headers, body } = encodeEvent(one, stamp);
    return decodeEvent({
      subject,
      sequence: index + 1,
      header: (name) => headers[name] ?? '',
      data: body,
    });
  });
  return {
    async *scan({ filter = '' }) {
      const wanted = new RegExp(`^${filter.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`);
      yield* all.filter(({ kind, id, type }) => wanted.test(`${kind}.${id}.${type}`));
    },
  };
}
