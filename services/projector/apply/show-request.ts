import type { ClusterRecord } from '@rollcall/shared/events';
import { apiVersion, clusterRegistrationRequest } from '@rollcall/shared/resources';
import { type ClusterTools, lookAgainMs, type ShownRequest } from './projection-context.ts';
import { priorityOf } from '../desired/registration-phase.ts';
import { isDecisionUnshown } from '../desired/desired-cluster.ts';
import { desiredRequest, requestLabels, type RequestShape } from '../desired/desired-request.ts';
import { type JsonObject, mergePatchBetween, plain, statusPatch } from '../desired/difference.ts';
import type { Pass } from '../queue/work-queue.ts';
import { messageWithUnheard } from '../desired/ignored-edits.ts';
import type { ShowStatus } from './trace-shown-status.ts';

type Labels = Readonly<Record<string, string>>;

function requestShapePatch(current: ShownRequest, shape: RequestShape, labels: Labels): JsonObject {
  const { decision: _, ...ours } = current.spec;
  const spec = mergePatchBetween(plain(ours), plain(shape));
  const shown = current.metadata.labels ?? {};
  const labelPatch = mergePatchBetween(shown, { ...shown, ...labels });
  return {
    ...(Object.keys(spec).length > 0 ? { spec } : {}),
    ...(Object.keys(labelPatch).length > 0 ? { metadata: { labels: labelPatch } } : {}),
  };
}

/** Makes a cluster's request show what its record says. */
export function createShowRequest(
  { view, writer, unknownAuthors }: Pick<ClusterTools, 'view' | 'writer' | 'unknownAuthors'>,
  showStatus: ShowStatus,
): (record: ClusterRecord) => Promise<Pass> {
  function create(name: string, spec: RequestShape, labels: Labels): Promise<ShownRequest | undefined> {
    const { kind } = clusterRegistrationRequest;
    return writer.create(view.requests, { apiVersion, kind, metadata: { name, labels }, spec });
  }

  return async (record) => {
    const wanted = desiredRequest(record);
    const priority = priorityOf(record);
    if (wanted.presence === 'unmentioned') return { isShown: true };
    const seen = view.requests.get(wanted.name);
    if (wanted.presence === 'gone') {
      if (seen) await writer.remove(view.requests, seen, priority);
      return { isShown: true };
    }
    const labels = requestLabels(record);
    let current = seen ?? (await create(wanted.name, wanted.shape, labels));
    // Also what was just made: it may have been there, from a write whose answer was lost.
    const shapePatch = current ? requestShapePatch(current, wanted.shape, labels) : {};
    if (current && Object.keys(shapePatch).length > 0)
      current = await writer.patch(view.requests, current, { patch: shapePatch, priority });
    // The approver takes a decision of a person only from a projection that shows its own last word.
    const isUnshown = current !== undefined && isDecisionUnshown(record, current);
    const unknown = current && (await unknownAuthors.of(view.requests, current));
    const message = messageWithUnheard(wanted.status.message, unknown);
    const status = { ...wanted.status, ...(message === undefined ? {} : { message }) };
    const difference = current && statusPatch(current.status, status, isUnshown);
    if (!difference)
      return { isShown: current !== undefined, ...(current ? {} : { againInMs: lookAgainMs }) };
    const target = current as ShownRequest;
    const isTaken = await showStatus(record, target, () =>
      writer.patchStatus(view.requests, target, { patch: difference.patch, priority }),
    );
    return isTaken ? { isShown: true } : { isShown: false, againInMs: lookAgainMs };
  };
}
