import type { Refusal } from './status-answer.ts';

/** Open ones of this person, also to this member alone, of everybody to this member, and in all. */
export interface OpenCounts {
  readonly ofPerson: number;
  readonly ofPersonToMember: number;
  readonly toMember: number;
  readonly inAll: number;
}

export interface StreamLimits {
  readonly ofPerson: number;
  readonly toMember: number;
  readonly inAll: number;
}

/**
 * How many requests may be open at a time. One person has no more than half of a member: somebody else still gets in.
 * @returns why one more is not carried
 */
export function streamLimits({
  name,
  open,
  limits,
}: {
  readonly name: string;
  readonly open: OpenCounts;
  readonly limits: StreamLimits;
}): Refusal | undefined {
  const over =
    open.ofPerson >= limits.ofPerson
      ? `you have ${open.ofPerson} requests open`
      : open.ofPersonToMember >= limits.toMember / 2
        ? `you have ${open.ofPersonToMember} requests to cluster "${name}" open`
        : open.toMember >= limits.toMember
          ? `${open.toMember} requests to cluster "${name}" are open`
          : open.inAll >= limits.inAll
            ? `${open.inAll} requests are open`
            : undefined;
  return over === undefined
    ? undefined
    : { code: 429, message: `too many streams: ${over}, which is the most here; end some and try again` };
}
