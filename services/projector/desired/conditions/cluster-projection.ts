import type { Facts } from '@rollcall/shared/bus';
import type { ClusterRecord, EventWriter, PredefinedObstacle } from '@rollcall/shared/events';

/** What the conditions of a ManagedCluster are judged from. */
export interface ClusterProjection {
  readonly record: ClusterRecord;
  readonly facts: Facts | undefined;
  /** Whether the object in the API server has been deleted and waits for our finalizer. */
  readonly isDeletionAsked: boolean;
  /** Why nothing that a person changes in a predefined cluster counts. */
  readonly obstacle?: PredefinedObstacle | undefined;
  /** Whether the `hubAcceptsClient: true` in the object is no decision about the request that waits. */
  readonly isAcceptVoid?: boolean;
}

/** Hub time of the newest event of a writer, else of the whole record. */
export function timeOf({ record }: ClusterProjection, writer: EventWriter): number {
  return record.lastOf[writer]?.timeMs ?? record.newest?.timeMs ?? 0;
}
