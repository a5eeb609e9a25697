import { type AuditWrite, isOfCluster, writeKindOf } from '../report/audit-writes.ts';

/** One write as anybody could send it. */
export interface ReplayRequest {
  /** Who sent it, and sends it again: the admission policies look at each user differently. */
  readonly user: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body: string | undefined;
  readonly contentType: string;
}

const methods = { create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' } as const;

/**
 * The writes of some clusters' joins, to be sent again about clusters that do not exist yet. By cluster, in the order in which
 * the API server got them, so that no object is written before it is there. Left out is what was refused and what is coalesced
 * over clusters: that makes the replay faster, so that it flatters nobody.
 * @param writes - from an audit log that keeps what was sent
 * @param rename.from - what the clusters' names begin with, in which no other word of these writes does
 */
export function replayPlan(
  writes: readonly AuditWrite[],
  options: { clusters: readonly string[]; rename: { from: string; to: string } },
): ReplayRequest[][] {
  const { from, to } = options.rename;
  const renamed = (text: string) => text.replaceAll(from, to);
  const replayed = (write: AuditWrite): ReplayRequest[] => {
    const method = methods[write.verb as keyof typeof methods];
    if (method === undefined) return [];
    const body = write.body === undefined ? undefined : renamed(JSON.stringify(withoutVersion(write.body)));
    // The audit log does not keep it; none of our services patches in another way.
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    return [{ user: write.user, method, path: renamed(write.uri), body, contentType }];
  };
  return options.clusters.map((cluster) =>
    writes
      .filter((write) => writeKindOf(write) === 'cluster' && write.code < 300 && isOfCluster(write, cluster))
      .toSorted((a, b) => a.receivedAtMs - b.receivedAtMs)
      .flatMap(replayed),
  );
}

/** A new object has other versions. */
function withoutVersion(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('metadata' in body)) return body;
  const { resourceVersion: _version, uid: _uid, ...metadata } = body.metadata as Record<string, unknown>;
  return { ...body, metadata };
}
