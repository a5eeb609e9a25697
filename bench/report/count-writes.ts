import { type AuditWrite, isOfCluster, type WriteKind, writeKindOf } from './audit-writes.ts';
import { quantile } from '../../cli/simulate/report/quantile.ts';

export interface JoinWrites {
  /** By Rollcall for one cluster, of every measured cluster. */
  readonly median: number;
  readonly most: number;
  /** Those of them that changed something: not refused. */
  readonly storedMedian: number;
  /** What they are in a join with the median number, as `user: verb resource`. */
  readonly list: readonly string[];
  readonly coalescedPerJoin: number;
  readonly kubernetesPerJoin: number;
  readonly otherPerJoin: number;
}

/** @param writes - all from before the first of these joins until what they led to was written */
export function countJoinWrites(writes: readonly AuditWrite[], clusters: readonly string[]): JoinWrites {
  const perCluster = clusters.map((cluster) =>
    writes.filter((write) => writeKindOf(write) === 'cluster' && isOfCluster(write, cluster)),
  );
  const counts = perCluster.map(({ length }) => length);
  const median = quantile(counts, 0.5);
  const typical = perCluster.find(({ length }) => length === median) ?? [];
  const perJoin = (kind: WriteKind) =>
    writes.filter((write) => writeKindOf(write) === kind).length / clusters.length;
  return {
    median,
    most: quantile(counts, 1),
    storedMedian: quantile(
      perCluster.map((some) => some.filter(({ code }) => code < 300).length),
      0.5,
    ),
    list: typical.map(describeWrite),
    coalescedPerJoin: perJoin('coalesced'),
    kubernetesPerJoin: perJoin('kubernetes'),
    otherPerJoin: perJoin('other'),
  };
}

export function describeWrite({ user, verb, resource, code }: AuditWrite): string {
  const who = user.split(':').at(-1);
  return `${who}: ${verb} ${resource}${code < 300 ? '' : ` (refused, ${code})`}`;
}
