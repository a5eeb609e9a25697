import type { ClusterRecord } from '@rollcall/shared/events';
import { apiVersion, clusterRegistrationRequest } from '@rollcall/shared/resources';
import { type ClusterTools, lookAgainMs, type ShownRequest } from './cluster-tools.ts';
import { isDecisionUnshown } from './desired-cluster.ts';
import { desiredRequest, type RequestShape } from './desired-request.ts';
import { type JsonObject, mergePatchBetween, plain, statusPatch } from './difference.ts';
import type { Pass } from './dirty-objects.ts';
import type { ShowStatus } from './show-status.ts';

function requestShapePatch(current: ShownRequest, shape: RequestShape): JsonObject {
  const { decision: _, ...ours } = current.spec;
  const spec = mergePatchBetween(plain(ours), plain(shape));
  return Object.keys(spec).length > 0 ? { spec } : {};
}

/** Makes a cluster's request show what its record says. */
export function createShowRequest(
  { view, writer }: Pick<ClusterTools, 'view' | 'writer'>,
  showStatus: ShowStatus,
): (record: ClusterRecord) => Promise<Pass> {
  return async (record) => {
    const wanted = desiredRequest(record);
    if (wanted.presence === 'unmentioned') return { isShown: true };
    let current = view.requests.get(wanted.name);
    if (wanted.presence === 'gone') {
      if (current) await writer.remove(view.requests, current);
      return { isShown: true };
    }
    if (current) {
      const shapePatch = requestShapePatch(current, wanted.shape);
      if (Object.keys(shapePatch).length > 0)
        current = await writer.patch(view.requests, current, {
          patch: shapePatch,
          importance: 'transition',
        });
    } else {
      const { kind } = clusterRegistrationRequest;
      current = await writer.create(view.requests, {
        apiVersion,
        kind,
        metadata: { name: wanted.name },
        spec: wanted.shape,
      });
    }
    // The approver takes a decision of a person only from a picture that shows its own last word.
    const isUnshown = current !== undefined && isDecisionUnshown(record, current);
    const difference = current && statusPatch(current.status, wanted.status, isUnshown);
    if (!difference)
      return { isShown: current !== undefined, ...(current ? {} : { againInMs: lookAgainMs }) };
    const target = current as ShownRequest;
    const isTaken = await showStatus(record, target, () =>
      writer.patchStatus(view.requests, target, { patch: difference.patch, importance: 'transition' }),
    );
    return isTaken ? { isShown: true } : { isShown: false, againInMs: lookAgainMs };
  };
}
