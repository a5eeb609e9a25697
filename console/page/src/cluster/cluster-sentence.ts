import { stateOfLiveness } from '@rollcall/shared/fleet/cluster-row';
import type { ClusterDescription, ClusterRow, ClusterState } from '../../../rows/index.ts';

/** Phases as `describe` says them, in the state that the wall shows. */
const stateOfPhase: Readonly<Record<string, ClusterState>> = {
  ...stateOfLiveness,
  failed: 'notReady',
  denied: 'out',
  revoked: 'out',
  banned: 'out',
  leaving: 'out',
  left: 'out',
  refused: 'out',
};

export const shownState = ({ phase }: ClusterDescription, row: ClusterRow | undefined): ClusterState =>
  row?.state ?? stateOfPhase[phase] ?? 'expected';

const sentences: Readonly<Record<string, string>> = {
  waiting: 'asks to come in and was not judged yet',
  pending: 'asks to come in and was not judged yet',
  held: 'asks to come in and waits for a person',
  refused: 'was refused',
  failed: 'was let in, and something went wrong',
  denied: 'was denied',
  revoked: 'is out: its key was taken back',
  banned: 'is banned',
  leaving: 'is leaving',
  left: 'has left',
  predefined: 'is expected: nobody has come as it yet',
  approved: 'is let in and was not heard yet',
  suspect: 'has just fallen silent',
  unreachable: 'is unreachable',
  stopped: 'was stopped: its agent said goodbye',
  memberDown: 'has an API server that does not answer; its agent is fine',
  flapping: 'comes and goes',
  ready: 'is Ready',
};

/** What it is, in one sentence without its end. */
export function clusterSentence({ clusterName, phase }: ClusterDescription): string {
  return `${clusterName} ${sentences[phase] ?? `is ${phase}`}`;
}

/** They happened at a moment, and are not so since then. */
const moments = new Set(['denied', 'refused', 'left']);
export const isMoment = ({ phase }: Pick<ClusterDescription, 'phase'>): boolean => moments.has(phase);

const outByDecision = new Set(['denied', 'revoked', 'banned']);
/** Who put it out, and why; undefined for who is not out. */
export const whyOut = ({ phase, decision }: ClusterDescription): string | undefined =>
  outByDecision.has(phase) ? decision?.message.replace(/\.?$/, '.') : undefined;

/** Since when it is so: of liveness, else of the decision. */
export function sinceMs({ liveness, decision, request, phase }: ClusterDescription): number | undefined {
  const at = liveness?.state === phase ? liveness.since : (decision?.at ?? request?.at);
  return at === undefined ? undefined : Date.parse(at);
}
