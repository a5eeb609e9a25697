/**
 * The agents of one share of a fleet that was there before, in a process of their own: the agent's own code with its own
 * keys and connections; only their members are made up. Told whom to run by its first message, and asked for a report by the next.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import type { KnownMember } from '../../tests/harness/member-fleet.ts';

export interface HerdSettings {
  readonly hub: readonly string[];
  readonly caPem: string;
  readonly members: readonly KnownMember[];
  readonly startedPerSecond: number;
}

/** How often agents met what, since the last report. */
export type HerdReport = Readonly<Record<string, number>>;

let troubles: Record<string, number> = {};

async function run({ hub, caPem, members, startedPerSecond }: HerdSettings): Promise<void> {
  for (const known of members) {
    startSimulatedAgent({
      cluster: known.clusterId,
      hub,
      caPem,
      known,
      onTrouble: (what) => (troubles[what] = (troubles[what] ?? 0) + 1),
    });
    await delay(1000 / startedPerSecond);
  }
}

process.once('message', (settings: HerdSettings) => {
  process.on('message', () => {
    process.send?.(troubles satisfies HerdReport);
    troubles = {};
  });
  void run(settings);
});
process.once('disconnect', () => process.exit());
