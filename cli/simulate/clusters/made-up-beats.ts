import { beatFlags, encodeBeat } from '@rollcall/shared/bus';
import { BeatRounds } from './beat-rounds.ts';
import type { Action } from './fleet-plan.ts';
import type { Random } from '../random.ts';
import type { Absence } from '../report/report.ts';
import type { SimulatorConnection } from './simulator-bus.ts';

/** How often it is looked who is due; each look is up to one tick of the rounds. */
const lookEveryMs = 25;

/** Nobody's beats are that far apart, in intervals, unless this process had no time for them. */
const stalledAfterIntervals = 1.5;

/** Beats of clusters that are made up, over connections that many of them share. */
export interface MadeUpBeats {
  /** From now on the cluster beats, over this connection. */
  start(clusterId: string, over: SimulatorConnection): void;
  do(verb: Action['verb'], clusterId: string): void;
  sent(): number;
  /** When clusters that should have beaten did not, because this machine was too busy: no silence that the hub is to blame for. */
  stalls(): readonly Absence[];
  stop(): void;
}

interface Member {
  readonly id: string;
  readonly subject: string;
  readonly over: SimulatorConnection;
  beats: boolean;
  /** Of its last beat, or of when it was to beat again; ms since the epoch. */
  sentAtMs: number;
}

export function createMadeUpBeats({
  intervalMs,
  random,
}: {
  intervalMs: number;
  random: Random;
}): MadeUpBeats {
  const members: Member[] = [];
  const byId = new Map<string, Member>();
  const rounds = new BeatRounds({ intervalMs, startMs: performance.now() });
  const stalls: Absence[] = [];
  let sent = 0;

  function send(member: Member, flags: number): void {
    const { id, subject, over, sentAtMs } = member;
    if (over.beats.isClosed() || over.beats.isDraining()) return;
    const nowMs = Date.now();
    over.beats.publish(subject, encodeBeat({ flags, agentTimeMs: nowMs }));
    if (nowMs - sentAtMs > stalledAfterIntervals * intervalMs)
      stalls.push({ clusterId: id, fromMs: sentAtMs, untilMs: nowMs });
    member.sentAtMs = nowMs;
    sent++;
  }
  const timer = setInterval(
    () =>
      rounds.due(performance.now(), (index) => {
        const member = members[index];
        if (member?.beats) send(member, 0);
      }),
    lookEveryMs,
  );
  return {
    start(id, over) {
      const member = { id, subject: `rollcall.beat.${id}`, over, beats: true, sentAtMs: Date.now() };
      rounds.add(members.push(member) - 1, random);
      byId.set(id, member);
      send(member, 0);
    },
    do(verb, clusterId) {
      const member = byId.get(clusterId);
      if (!member) return;
      if (verb === 'goodbye') send(member, beatFlags.goodbye);
      member.beats = verb === 'back';
      if (verb !== 'back') return;
      // What it was silent for until now is the scenario's doing. Agents beat as soon as they are connected.
      member.sentAtMs = Date.now();
      send(member, 0);
    },
    sent: () => sent,
    stalls: () => stalls,
    stop: () => clearInterval(timer),
  };
}
