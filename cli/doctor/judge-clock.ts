import { finding, type Finding, ok } from './finding.ts';

/** Certificates are backdated by 5 minutes; half of that is a clock that somebody should look at. */
const tolerableMs = 150_000;

export interface MeasuredClock {
  /** Server minus here. */
  readonly differenceMs: number;
  /** How far that may be wrong: half of the way there and back, and what the server rounds. */
  readonly uncertaintyMs: number;
}

/** @param ask - the server's time in ms, or undefined where it does not say */
export async function measureClock(
  ask: () => Promise<number | undefined>,
  roundsToMs = 0,
): Promise<MeasuredClock | undefined> {
  const sentAtMs = Date.now();
  const serverMs = await ask();
  if (serverMs === undefined) return undefined;
  const receivedAtMs = Date.now();
  const half = (receivedAtMs - sentAtMs) / 2;
  return { differenceMs: serverMs + roundsToMs / 2 - sentAtMs - half, uncertaintyMs: half + roundsToMs / 2 };
}

const seconds = (ms: number) => (Math.abs(ms) / 1000).toFixed(1);

export function judgeClock(whose: string, { differenceMs, uncertaintyMs }: MeasuredClock): Finding {
  const check = `clock ${whose}`;
  const isSame = Math.abs(differenceMs) <= uncertaintyMs;
  const text = isSame
    ? `the same as here, within ${seconds(uncertaintyMs)} s`
    : `${seconds(differenceMs)} s ${differenceMs > 0 ? 'ahead of' : 'behind'} here`;
  return Math.abs(differenceMs) - uncertaintyMs > tolerableMs
    ? finding(
        check,
        text,
        'Set the clock that is wrong (NTP): certificates and credentials are refused by it.',
      )
    : ok(check, text);
}
