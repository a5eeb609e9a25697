import { type Identity, leaveRequested, requested } from '@rollcall/shared/events';
import type { ReplyResult } from '@rollcall/shared/protocol';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

/** What the hub said, and to which key. */
interface Heard {
  readonly key: string;
  readonly verb: string;
  readonly result: ReplyResult;
}

/** The event without which the hub could not have said so; undefined for what needs none. */
function eventBehind({ key, verb, result }: Heard): { type: string; key: string } | undefined {
  if (result.kind === 'waiting' || result.kind === 'admitted') return { type: requested.type, key };
  if (result.kind === 'rotated') return { type: requested.type, key: result.key };
  return result.kind === 'done' && verb === 'leave' ? { type: leaveRequested.type, key } : undefined;
}

/** I1: acknowledged means kept. Whatever an agent hears that the hub has taken of it is in the stream by then. */
export function checkKept(world: World, heard: Heard): void {
  const { result } = heard;
  const wanted = eventBehind(heard);
  if (!wanted) return;
  const isKept = world.stream.stored.some(({ kind, id, type, section }) => {
    if (kind !== 'cluster' || type !== wanted.type) return false;
    if ('clusterId' in result && id !== result.clusterId) return false;
    const { request, leave } = section as Identity;
    return wanted.key === (type === leaveRequested.type ? leave?.key : request.key);
  });
  if (isKept) return;
  const what = `${heard.key} heard ${result.kind}, and ${wanted.type} of ${wanted.key} is not in the stream`;
  world.fail(new Violation('I1 acknowledged means kept', what));
}
