import { setTimeout as delay } from 'node:timers/promises';
import type { Fleet } from './clusters/fleet.ts';
import type { Action, FleetPlan } from './clusters/fleet-plan.ts';
import type { Absence } from './report/report.ts';
import type { RunView } from './report/run-view.ts';

const lookEveryMs = 50;

const describe: Readonly<Record<Action['verb'], string>> = {
  cut: 'lose their connection',
  mute: 'fall silent',
  goodbye: 'say goodbye',
  back: 'come back',
  register: 'register',
  leave: 'leave',
};

/** Does what the plan says when its time comes. @returns when clusters could not be heard */
export async function followPlan(
  { actions }: FleetPlan,
  fleet: Pick<Fleet, 'idOf' | 'do' | 'unregister'>,
  options: { beganAtMs: number; endMs: number; view: Pick<RunView, 'say'>; signal: AbortSignal },
): Promise<Absence[]> {
  const absences: Absence[] = [];
  /** By cluster. One that is away again before it was heard is away since the first time. */
  const open = new Map<string, { readonly fromMs: number }>();
  const running = new Set<Promise<void>>();
  const ending = new AbortController();
  let next = 0;
  let told = '';
  function heard(clusterId: string, absence: { readonly fromMs: number } | undefined): void {
    if (absence === undefined || open.get(clusterId) !== absence) return;
    open.delete(clusterId);
    absences.push({ clusterId, ...absence, untilMs: Date.now() });
  }
  function track(work: Promise<void>): void {
    running.add(work);
    void work.finally(() => running.delete(work));
  }
  const tellTrouble = (thrown: unknown) => options.view.say('trouble', String(thrown));
  const elapsedMs = () => Date.now() - options.beganAtMs;
  while (elapsedMs() < options.endMs && !options.signal.aborted) {
    const due: Action[] = [];
    for (let action = actions[next]; action && action.atMs <= elapsedMs(); action = actions[++next])
      due.push(action);
    // Together: thousands may leave at once.
    const leaving = due.filter(({ verb }) => verb === 'leave').map(({ cluster }) => cluster);
    if (leaving.length > 0) track(fleet.unregister(leaving, ending.signal).catch(tellTrouble));
    for (const action of due) {
      if (action.verb === 'leave') continue;
      const id = fleet.idOf(action.cluster);
      const before = open.get(id);
      if (action.verb === 'cut' || action.verb === 'mute')
        open.set(id, { fromMs: before?.fromMs ?? Date.now() });
      const work = fleet.do(action).catch(tellTrouble);
      if (action.verb === 'back') void work.then(() => heard(id, before));
      else track(work);
    }
    const [first] = due;
    const words = first && `clusters ${describe[first.verb]}`;
    if (words !== undefined && words !== told) {
      told = words;
      options.view.say('scenario', `${(elapsedMs() / 1000).toFixed(0)} s: ${words}`);
    }
    await delay(lookEveryMs);
  }
  ending.abort();
  await Promise.allSettled(running);
  for (const [clusterId, absence] of open) absences.push({ clusterId, ...absence });
  return absences;
}
