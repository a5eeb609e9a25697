import { beatFlags, encodeBeat } from '@rollcall/shared/bus/beat';
import { spreadMs } from '../hub/back-off.ts';
import type { HubLink } from './hub-connection.ts';

const intervalBoundsMs = { least: 1000, most: 7_200_000 };

/** What the hub says, within what makes sense: an hour is the most that it can be set to, and it may be stretched. */
export function boundedInterval(intervalMs: number): number {
  return Math.min(intervalBoundsMs.most, Math.max(intervalBoundsMs.least, intervalMs));
}

export interface BeatingOptions {
  readonly clusterId: string;
  /** Where beats go now; undefined while there is no member connection: they are then left out. */
  link(): HubLink | undefined;
  /** Whether the member's API server answers; asked beside the beats and never waited for. */
  memberAnswers(): Promise<boolean>;
  /** `member`: no beat before the member has answered, and none while it does not. */
  readonly beatsFor: 'agent' | 'member';
  onMemberChange(isThere: boolean): void;
  /** Told of each beat that went out over a connection. */
  onBeat?: (() => void) | undefined;
}

export interface Beating {
  /** Beats at once, and from then on at the interval, each up to 5 % early or late. */
  beat(intervalMs: number): void;
  /** Says goodbye: the hub need not wait for the grace. */
  goodbye(): void;
  stop(): void;
}

export function createBeating(options: BeatingOptions): Beating {
  const { clusterId, link, memberAnswers, beatsFor, onMemberChange, onBeat } = options;
  const subject = `rollcall.beat.${clusterId}`;
  let timer: NodeJS.Timeout | undefined;
  let memberIsThere = beatsFor === 'agent';
  let isProbing = false;
  let isStopped = false;

  function send(more: number): void {
    if (beatsFor === 'member' && !memberIsThere && more === 0) return;
    const to = link();
    if (!to) return;
    const flags = (memberIsThere ? 0 : beatFlags.memberApiDown) | more;
    to.publish(subject, encodeBeat({ flags, agentTimeMs: Date.now() }));
    onBeat?.();
  }

  async function probe(): Promise<void> {
    if (isProbing) return;
    isProbing = true;
    const isThere = await memberAnswers().catch(() => false);
    isProbing = false;
    if (isStopped || isThere === memberIsThere) return;
    memberIsThere = isThere;
    onMemberChange(isThere);
    send(0);
  }

  function beat(intervalMs: number): void {
    clearTimeout(timer);
    if (isStopped) return;
    send(0);
    void probe();
    timer = setTimeout(() => beat(intervalMs), spreadMs(intervalMs, 0.05, Math.random()));
  }

  return {
    beat,
    goodbye: () => send(beatFlags.goodbye),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
