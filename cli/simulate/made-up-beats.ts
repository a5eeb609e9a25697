import { beatFlags, encodeBeat } from '@rollcall/shared/bus';
import { BeatRounds } from './beat-rounds.ts';
import type { Action } from './fleet-plan.ts';
import type { Random } from './random.ts';
import type { SimulatorConnection } from './simulator-bus.ts';

/** How often it is looked who is due; each look is up to one tick of the rounds. */
const lookEveryMs = 25;

/** Beats of clusters that are made up, over connections that many of them share. */
export interface MadeUpBeats {
  /** From now on the cluster beats, over this connection. */
  start(clusterId: string, over: SimulatorConnection): void;
  do(verb: Action['verb'], clusterId: string): void;
  sent(): number;
  stop(): void;
}

interface Member {
  readonly id: string;
  readonly subject: string;
  readonly over: SimulatorConnection;
  beats: boolean;
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
  let sent = 0;

  function send({ subject, over }: Member, flags: number): void {
    if (over.nc.isClosed() || over.nc.isDraining()) return;
    over.nc.publish(subject, encodeBeat({ flags, agentTimeMs: Date.now() }));
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
      const member = { id, subject: `rollcall.beat.${id}`, over, beats: true };
      rounds.add(members.push(member) - 1, random);
      byId.set(id, member);
      send(member, 0);
    },
    do(verb, clusterId) {
      const member = byId.get(clusterId);
      if (!member) return;
      if (verb === 'goodbye') send(member, beatFlags.goodbye);
      member.beats = verb === 'back';
      // Agents beat as soon as they are connected.
      if (verb === 'back') send(member, 0);
    },
    sent: () => sent,
    stop: () => clearInterval(timer),
  };
}
