import type { Fleet } from './clusters/fleet.ts';
import type { RunView } from './report/run-view.ts';
import type { RunWatch } from './report/run-watch.ts';

const everyMs = 1000;

function statusLine(watch: RunWatch, fleet: Fleet, rates: { heartbeats: number; events: number }): string {
  const { ready, suspect, unreachable, stopped } = watch.counts();
  const agents = fleet.agents ? `  ${fleet.askedAtMs.size} agents asked` : '';
  return `ready ${ready}  suspect ${suspect}  unreachable ${unreachable}  stopped ${stopped}  | ${rates.heartbeats} heartbeats/s  ${rates.events} events/s${agents}`;
}

/** Shows how it goes, each second. @returns what ends it */
export function showStatus(view: RunView, watch: RunWatch, fleet: Fleet): () => void {
  let before = { heartbeats: 0, events: 0 };
  const timer = setInterval(() => {
    const now = { heartbeats: fleet.heartbeats.sent(), events: watch.events() };
    const rates = { heartbeats: now.heartbeats - before.heartbeats, events: now.events - before.events };
    view.status(statusLine(watch, fleet, rates));
    before = now;
  }, everyMs);
  return () => clearInterval(timer);
}
