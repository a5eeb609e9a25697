import type { AuthorUnknown } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { type Condition, labels, type ManagedClusterSet } from '@rollcall/shared/resources';
import { setProblem } from '@rollcall/shared/resources/set-problem';
import { cutText } from '@rollcall/shared/text';
import { conditionList, longestMessage } from './condition-list.ts';

const type = 'Heard';
/** In the message of a request, which has no conditions: what begins the part that is about this. */
const mark = 'not heard: ';

interface Shown {
  readonly conditions?: Condition[] | undefined;
  readonly message?: string | undefined;
}

/** The set that a label names, and into which nobody can be put. */
interface SetUnknown {
  readonly reason: 'SetUnknown';
  readonly message: string;
}

/** Why the label of a cluster puts it into no set. */
export function unknownSet(
  { metadata }: KubeObject,
  setOfName: (name: string) => Pick<ManagedClusterSet, 'spec'> | undefined,
): SetUnknown | undefined {
  const name = metadata.labels?.[labels.clusterSet];
  const message = name ? setProblem(name, setOfName(name)) : undefined;
  return message === undefined ? undefined : { reason: 'SetUnknown', message };
}

/** Whether a cluster says of its set what is so no more, or not yet. */
export function isSetShownOtherwise(
  object: KubeObject,
  set: Pick<ManagedClusterSet, 'spec'> | undefined,
): boolean {
  const { conditions = [] } = (object.status ?? {}) as Shown;
  const isShown = conditions.some((each) => each.type === type && each.reason === 'SetUnknown');
  return isShown !== (unknownSet(object, () => set) !== undefined);
}

/** Whether a status says that something in the object does not count. */
export function isShownUnheard({ status }: KubeObject): boolean {
  const { conditions = [], message = '' } = (status ?? {}) as Shown;
  return conditions.some((each) => each.type === type) || message.includes(mark);
}

/** A status of conditions, with one more while something that stands in the object does not count. */
export function withUnheard<Status extends { conditions?: Condition[] | undefined }>(
  status: Status,
  unknown: AuthorUnknown | SetUnknown | undefined,
  { current, nowMs }: { current: KubeObject; nowMs: number },
): Status {
  if (!unknown) return status;
  const judged = { type, status: 'False', ...unknown, atMs: nowMs } as const;
  const before = ((current.status ?? {}) as Shown).conditions ?? [];
  const more = conditionList([judged], before, current.metadata.generation);
  return { ...status, conditions: [...(status.conditions ?? []), ...more] };
}

/** The message of a request, and what stands in it and does not count. */
export function messageWithUnheard(message: string | undefined, unknown: AuthorUnknown | undefined) {
  if (!unknown) return message;
  return cutText([message, `${mark}${unknown.message}`].filter(Boolean).join('; '), longestMessage);
}
