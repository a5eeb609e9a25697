import type { EventLog } from '@rollcall/shared/bus';
import { type ClusterRecord, type LivenessState, livenessStateOf } from '@rollcall/shared/events';
import type { HubClock } from '../engine/hub-clock.ts';
import type { LivenessEngine } from '../engine/liveness-engine.ts';
import type { KnownCluster, ProposedTransition } from '../engine/liveness-signals.ts';
import { knownCluster } from '../members/known-clusters.ts';
import { membershipOf } from '../members/membership.ts';
import { RunningWork } from './running-work.ts';
import { readCluster } from './transition-batch.ts';

export const retryAfterMs = 1000;

/** Tells the engine what became of its proposals. */
export interface ProposalAnswers {
  /** Is told from which record a proposal is being decided. */
  decidedFrom(proposal: ProposedTransition, record: ClusterRecord): void;
  written(proposal: ProposedTransition, state: LivenessState): void;
  /** The record lets nothing follow from the proposal. */
  refused(proposal: ProposedTransition, record: ClusterRecord): void;
  /** It may be stored or not. */
  failed(proposal: ProposedTransition): void;
  /** Ends with what is being asked; nothing is asked after that. */
  drain(): Promise<void>;
}

/**
 * Since when it is so, for what was heard meanwhile. What another replica wrote carries its clock, and by that a heartbeat from before might
 * look like one after: the time of our own proposal for the same counts, and for anything else the next heartbeat.
 */
function changedAtMs(proposal: ProposedTransition, known: KnownCluster): number {
  if (known.state === 'neverSeen') return known.sinceMs;
  return known.state === proposal.state ? proposal.decidedAtMs : Infinity;
}

const newestOf = ({ lastOf }: ClusterRecord) => lastOf.heartbeat?.sequence;

export function answerProposals(
  engine: Pick<LivenessEngine, 'proposals' | 'forgetGoodbye'>,
  { log, clock }: { log: Pick<EventLog, 'read'>; clock: HubClock },
): ProposalAnswers {
  const { proposals } = engine;
  /** Where our own event stood before the proposal, of proposals that are being written. */
  const basis = new WeakMap<ProposedTransition, number | undefined>();
  const running = new RunningWork();
  let isDraining = false;

  /** @param refused - the state from which the record let nothing follow; asked at once again it would say the same again */
  function settleBy(proposal: ProposedTransition, record: ClusterRecord, refused?: LivenessState): void {
    const nowMs = clock.monotonicMs();
    const member = membershipOf(record);
    if (!member) return proposals.settle(proposal, undefined, nowMs);
    const known = knownCluster(proposal.clusterId, member, clock);
    if (known.state === refused) proposals.retry(proposal, nowMs + known.intervalMs);
    else proposals.settle(proposal, { state: known.state, sinceMs: changedAtMs(proposal, known) }, nowMs);
  }

  /** Whether a goodbye was told, by us or another replica, and another heartbeat since: told again, it would stop the cluster twice. */
  function isGoodbyeOver(proposal: ProposedTransition, record: ClusterRecord): boolean {
    const isNews = basis.has(proposal) && newestOf(record) !== basis.get(proposal);
    return (
      isNews && proposal.state === 'stopped' && livenessStateOf(membershipOf(record)?.liveness) === 'ready'
    );
  }

  /**
   * What failed may be stored all the same: only the record knows what state the cluster is in now. Judged from the old one, a
   * goodbye that came meanwhile would say nothing new, and the cluster would be shown as ready for ever.
   */
  function settleLater(proposal: ProposedTransition): void {
    const look = async () => {
      if (isDraining) return;
      try {
        const record = await readCluster(log, proposal.clusterId);
        if (isGoodbyeOver(proposal, record)) engine.forgetGoodbye(proposal.clusterId);
        settleBy(proposal, record);
      } catch {
        settleLater(proposal);
      }
    };
    setTimeout(() => running.track(look()), retryAfterMs).unref();
  }

  return {
    decidedFrom: (proposal, record) => void basis.set(proposal, newestOf(record)),
    written(proposal, state) {
      proposals.settle(proposal, { state, sinceMs: proposal.decidedAtMs }, clock.monotonicMs());
    },
    refused: (proposal, record) => settleBy(proposal, record, proposal.from),
    failed: settleLater,
    async drain() {
      isDraining = true;
      await running.settled();
    },
  };
}
