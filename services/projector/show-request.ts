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
  function create(name: string, spec: RequestShape): Promise<ShownRequest | undefined> {
    const { kind } = clusterRegistrationRequest;
    return writer.create(view.requests, { apiVersion, kind, metadata: { name }, spec });
  }

  return async (record) => {
    const wanted = desiredRequest(record);
    if (wanted.presence === 'unmentioned') return { isShown: true };
    const seen = view.requests.get(wanted.name);
    if (wanted.presence === 'gone') {
      if (seen) await writer.remove(view.requests, seen);
      return { isShown: true };
    }
    let current = seen ?? (await create(wanted.name, wanted.shape));
    // Also what was just made: it may have been there, from a write whose answer was lost.
    const shapePatch = current ? requestShapePatch(current, wanted.shape) : {};
    if (current && Object.keys(shapePatch).length > 0)
      current = await writer.patch(view.requests, current, { patch: shapePatch, importance: 'transition' });
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
