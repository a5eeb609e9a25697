import {
  accessSchema,
  admitted,
  approved,
  decisionSchema,
  digestOf,
  draft,
  type EncodedEvent,
  encodeEvent,
  type EventDraft,
  type Head,
  identitySchema,
  joined,
  livenessSchema,
  nameTaken,
  provisioned,
  requested,
} from '@rollcall/shared/events';

const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };

/** What the services write about one cluster until it is ready; the heads are the writer's. */
export function* lifeOf(index: number, key: string, atMs: number): Generator<EventDraft> {
  const [id, name] = [`cluster-${index}`, `edge-${index}`];
  const what = { reason: 'R', message: 'as a service would say it' };
  const on = { aggregate: { kind: 'cluster', id } as const, head: undefined };
  const identity = identitySchema.parse({
    state: 'requested',
    clusterId: id,
    clusterName: name,
    request: {
      id: `request-${index}`,
      key,
      keyFingerprint: 'f'.repeat(16),
      tokenId: 'token',
      tokenName: 'rollcall-join/rollout',
      labels: { region: index % 2 === 0 ? 'eu' : 'us' },
      claimed: { kubernetesVersion: 'v1.36.1', provider: 'kind', nodesTotal: 3, labels: {} },
      requestedAtMs: atMs,
    },
  });
  const by = { policy: 'default', generation: 1, rule: 'valid-token' };
  const names = { clusterName: name, namespace: name, heartbeat };
  yield draft(requested, on, { ...what, section: identity });
  yield draft(
    nameTaken,
    { aggregate: { kind: 'name', id: name }, head: undefined },
    {
      ...what,
      section: { name, clusterId: id, free: false },
    },
  );
  yield draft(approved, on, {
    ...what,
    section: decisionSchema.parse({
      ...names,
      ...what,
      by,
      verdict: 'approved',
      requestId: identity.request.id,
      key,
      approvedKey: key,
      decidedAtMs: atMs,
    }),
  });
  const isIn = { state: 'admitted', admittedKey: key, admittedAtMs: atMs } as const;
  yield draft(admitted, on, { ...what, section: { ...identity, ...isIn } });
  yield draft(provisioned, on, {
    ...what,
    section: accessSchema.parse({
      state: 'provisioned',
      namespace: name,
      requestId: identity.request.id,
      atMs,
    }),
  });
  const alive = {
    state: 'ready',
    key,
    cause: 'Alive',
    joinedAtMs: atMs,
    sinceMs: atMs,
    lastHeartbeatAtMs: atMs,
  };
  yield draft(joined, on, { ...what, section: livenessSchema.parse(alive) });
}

/** An event as a stream has it. */
export type Written = EncodedEvent & { readonly sequence: number; readonly digest: string };

/** Encodes events in the order in which a stream will have them, each on the head of its aggregate. */
export function historyWriter(nowMs: number): (event: EventDraft) => Written {
  let sequence = 0;
  const heads = new Map<string, Head>();
  return (event) => {
    const { kind, id } = event.aggregate;
    const encoded = encodeEvent(
      { ...event, head: heads.get(`${kind}.${id}`) },
      { epoch: 1, source: '/rollcall/bench', nowMs, correlation: 'bench' },
    );
    const digest = digestOf(encoded.subject, encoded.headers['ce-id'] ?? '', encoded.body);
    sequence++;
    heads.set(`${kind}.${id}`, { epoch: 1, sequence, digest });
    return { ...encoded, sequence, digest };
  };
}

/**
 * The lives of clusters, one after the other, as a stream has them that had nothing before.
 * @param keys - of the clusters' agents, one for each
 */
export function* livesOf(keys: Iterable<string>, atMs: number): Generator<Written[]> {
  const encode = historyWriter(atMs);
  let index = 0;
  for (const key of keys) yield [...lifeOf(index++, key, atMs)].map(encode);
}

/** For `refillStream`. */
export async function* messagesOf(lives: Iterable<readonly Written[]>) {
  for (const events of lives)
    for (const { sequence, subject, headers, body } of events)
      yield { sequence, subject, headers, data: body };
}
