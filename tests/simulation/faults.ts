import type { Random } from '../../cli/simulate/random.ts';

/** How often each fault strikes where it could, while it is switched on. */
const rates = {
  'crash.registrar': 0.008,
  'crash.approver': 0.003,
  'crash.rbac-provisioner': 0.02,
  'crash.heartbeat': 0.02,
  'crash.projector': 0.002,
  'crash.account-controller': 0.02,
  'pause.registrar': 0.005,
  'pause.approver': 0.003,
  'pause.rbac-provisioner': 0.01,
  'pause.heartbeat': 0.005,
  'pause.projector': 0.002,
  'pause.account-controller': 0.01,
  'bus.read-fails': 0.03,
  'bus.append-fails': 0.05,
  'bus.append-answer-lost': 0.08,
  'bus.slow': 0.05,
  'delivery.late': 0.15,
  'delivery.twice': 0.08,
  'delivery.ack-lost': 0.08,
  'kube.unreachable': 0.03,
  'kube.busy': 0.03,
  'kube.broken': 0.03,
  'kube.answer-lost': 0.05,
  'kube.slow': 0.05,
  'kube.away': 0.004,
  'kube.watch-cut': 0.03,
  'kube.watch-expired': 0.1,
  'kube.watch-late': 0.1,
  'kube.older': 0.2,
  'heartbeat.lost': 0.2,
  'ask.lost': 0.1,
  'ask.twice': 0.15,
  'ask.late': 0.1,
  'answer.lost': 0.15,
  'policy.timeout': 0.1,
  'admission.missing': 0.1,
  'trust.fails': 0.05,
  'trust.answer-lost': 0.08,
  'agent.restarts': 0.3,
  'agent.reinstalled': 0.3,
  'agent.cloned': 0.2,
  'agent.rotates': 0.3,
  'agent.leaves': 0.15,
  'agent.changes': 0.3,
  'agent.copied-to-another': 0.1,
} as const;

export type FaultKind = keyof typeof rates;
export const faultKinds = Object.keys(rates) as FaultKind[];

/** What may go wrong in one seed: some kinds never, some rarely, some often, so that each is also seen without the others. */
export interface Faults {
  strikes(kind: FaultKind): boolean;
  /** From here on nothing goes wrong any more. */
  stop(): void;
}

/** @param counts - how often each kind has struck, over all seeds */
export function createFaults(random: Random, counts: Map<FaultKind, number>): Faults {
  const none = random.chance(0.08);
  const share: Record<string, number> = {};
  for (const kind of faultKinds)
    share[kind] = none || random.chance(0.5) ? 0 : rates[kind] * random.pick([0.3, 1, 2]);
  let isOver = false;
  return {
    strikes(kind) {
      const likelihood = isOver ? 0 : (share[kind] ?? 0);
      if (likelihood === 0 || !random.chance(likelihood)) return false;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return true;
    },
    stop() {
      isOver = true;
    },
  };
}
