import type { PhaseEvent, PhaseName } from '@rollcall/agent';
import { printable } from '../terminal/printable.ts';

/** The agent's phases in the five words that people see (surfaces: "CLI"); what comes after Ready keeps its own. */
const shownAs: Readonly<Partial<Record<PhaseName, string>>> = { waiting: 'approve', refused: 'register' };

/**
 * `[phase] message`, with what to do where something is in the way, and when the agent tries again. What to do is said once for
 * the tries that follow each other.
 */
export function createPhaseLine(): (event: PhaseEvent) => string {
  let saidHint: string | undefined;
  return (event) => {
    const { hint } = event.detail;
    const line = phaseLine(event, hint === saidHint ? undefined : hint);
    saidHint = hint;
    return line;
  };
}

function phaseLine({ phase, message, detail }: PhaseEvent, hint: string | undefined): string {
  const { code, reason, retryInMs } = detail;
  const held = phase === 'waiting' ? `waiting${reason === undefined ? '' : ` (${reason})`}: ` : '';
  const refused = phase === 'refused' ? `refused${code === undefined ? '' : ` (${code})`}: ` : '';
  const again =
    retryInMs === undefined ? '' : `; trying again in ${Math.max(1, Math.round(retryInMs / 1000))} s`;
  const lines = [`[${shownAs[phase] ?? phase}] ${printable(`${held}${refused}${message}${again}`)}`];
  if (hint !== undefined && hint !== '') lines.push(`[${shownAs[phase] ?? phase}] hint: ${printable(hint)}`);
  return lines.join('\n');
}
