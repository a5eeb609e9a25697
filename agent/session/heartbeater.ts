import { heartbeatFlags, encodeHeartbeat } from '@rollcall/shared/bus/heartbeat';
import { spreadMs } from '../hub/back-off.ts';
import type { HubLink } from './hub-connection.ts';

const intervalBoundsMs = { least: 1000, most: 7_200_000 };
/** As a hub has it that was not set otherwise. */
const usualIntervalMs = 15_000;

/** What the hub says, within what makes sense: an hour is the most that it can be set to, and it may be multiplied. */
export function boundedInterval(intervalMs: number): number {
  // By no number a timer would be over at once, each time.
  if (!Number.isFinite(intervalMs)) return usualIntervalMs;
  return Math.min(intervalBoundsMs.most, Math.max(intervalBoundsMs.least, intervalMs));
}

export interface HeartbeaterOptions {
  readonly clusterId: string;
  /** Where heartbeats go now; undefined while there is no member connection: they are then left out. */
  link(): HubLink | undefined;
  /** Whether the member's API server answers; asked beside the heartbeats and never waited for. */
  memberAnswers(): Promise<boolean>;
  /** `member`: no heartbeat before the member has answered, and none while it does not. */
  readonly heartbeatsFor: 'agent' | 'member';
  onMemberChange(isThere: boolean): void;
  /** Told of each heartbeat that went out over a connection. */
  onHeartbeat?: (() => void) | undefined;
}

export interface Heartbeater {
  /** Sends one at once, and from then on at the interval, each up to 5 % early or late. */
  start(intervalMs: number): void;
  /** Says goodbye: the hub need not wait for the grace. */
  goodbye(): void;
  stop(): void;
}

export function createHeartbeater(options: HeartbeaterOptions): Heartbeater {
  const { clusterId, link, memberAnswers, heartbeatsFor, onMemberChange, onHeartbeat } = options;
  const subject = `rollcall.heartbeat.${clusterId}`;
  let timer: NodeJS.Timeout | undefined;
  let memberIsThere = heartbeatsFor === 'agent';
  let isProbing = false;
  let isStopped = false;

  function send(more: number): void {
    if (heartbeatsFor === 'member' && !memberIsThere && more === 0) return;
    const to = link();
    if (!to) return;
    const flags = (memberIsThere ? 0 : heartbeatFlags.memberApiDown) | more;
    to.publish(subject, encodeHeartbeat({ flags, agentTimeMs: Date.now() }));
    void to.check();
    onHeartbeat?.();
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

  function start(intervalMs: number): void {
    clearTimeout(timer);
    if (isStopped) return;
    send(0);
    void probe();
    timer = setTimeout(() => start(intervalMs), spreadMs(intervalMs, 0.05, Math.random()));
  }

  return {
    start,
    goodbye: () => send(heartbeatFlags.goodbye),
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
