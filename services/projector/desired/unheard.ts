import type { AuthorUnknown } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import type { Condition } from '@rollcall/shared/resources';
import { cutText } from '@rollcall/shared/text';
import { conditionList, longestMessage } from './condition-list.ts';

const type = 'Heard';
/** In the message of a request, which has no conditions: what begins the part that is about this. */
const mark = 'not heard: ';

interface Shown {
  readonly conditions?: Condition[] | undefined;
  readonly message?: string | undefined;
}

/** Whether a status says that something in the object does not count. */
export function isShownUnheard({ status }: KubeObject): boolean {
  const { conditions = [], message = '' } = (status ?? {}) as Shown;
  return conditions.some((each) => each.type === type) || message.includes(mark);
}

/** A status of conditions, with one more while something that stands in the object does not count. */
export function withUnheard<Status extends { conditions?: Condition[] | undefined }>(
  status: Status,
  unknown: AuthorUnknown | undefined,
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
