import { heartbeatFlags, encodeHeartbeat } from '@rollcall/shared/bus';
import { HeartbeatRounds } from './heartbeat-rounds.ts';
import type { Action } from './fleet-plan.ts';
import type { Random } from '../random.ts';
import type { Absence } from '../report/report.ts';
import type { SimulatorConnection } from './simulator-bus.ts';

/** How often it is looked who is due; each look is up to one tick of the rounds. */
const lookEveryMs = 25;

/** Nobody's heartbeats are that far apart, in intervals, unless this process had no time for them. */
const stalledAfterIntervals = 1.5;

/** Heartbeats of clusters that are made up, over connections that many of them share. */
export interface MadeUpHeartbeats {
  /** From now on the cluster sends heartbeats, over this connection. */
  start(clusterId: string, over: SimulatorConnection): void;
  do(verb: Action['verb'], clusterId: string): void;
  sent(): number;
  /** When clusters that should have sent a heartbeat did not, because this machine was too busy: no silence that the hub is to blame for. */
  stalls(): readonly Absence[];
  stop(): void;
}

interface Member {
  readonly id: string;
  readonly subject: string;
  readonly over: SimulatorConnection;
  heartbeats: boolean;
  /** Of its last heartbeat, or of when it was to send heartbeats again; ms since the epoch. */
  sentAtMs: number;
}

export function createMadeUpHeartbeats({
  intervalMs,
  random,
}: {
  intervalMs: number;
  random: Random;
}): MadeUpHeartbeats {
  const members: Member[] = [];
  const byId = new Map<string, Member>();
  const rounds = new HeartbeatRounds({ intervalMs, startMs: performance.now() });
  const stalls: Absence[] = [];
  let sent = 0;

  function send(member: Member, flags: number): void {
    const { id, subject, over, sentAtMs } = member;
    if (over.heartbeats.isClosed() || over.heartbeats.isDraining()) return;
    const nowMs = Date.now();
    over.heartbeats.publish(subject, encodeHeartbeat({ flags, agentTimeMs: nowMs }));
    if (nowMs - sentAtMs > stalledAfterIntervals * intervalMs)
      stalls.push({ clusterId: id, fromMs: sentAtMs, untilMs: nowMs });
    member.sentAtMs = nowMs;
    sent++;
  }
  const timer = setInterval(
    () =>
      rounds.due(performance.now(), (index) => {
        const member = members[index];
        if (member?.heartbeats) send(member, 0);
      }),
    lookEveryMs,
  );
  return {
    start(id, over) {
      const member = {
        id,
        subject: `rollcall.heartbeat.${id}`,
        over,
        heartbeats: true,
        sentAtMs: Date.now(),
      };
      rounds.add(members.push(member) - 1, random);
      byId.set(id, member);
      send(member, 0);
    },
    do(verb, clusterId) {
      const member = byId.get(clusterId);
      if (!member) return;
      if (verb === 'goodbye') send(member, heartbeatFlags.goodbye);
      member.heartbeats = verb === 'back';
      if (verb !== 'back') return;
      // What it was silent for until now is the scenario's doing. Agents send heartbeats as soon as they are connected.
      member.sentAtMs = Date.now();
      send(member, 0);
    },
    sent: () => sent,
    stalls: () => stalls,
    stop: () => clearInterval(timer),
  };
}
