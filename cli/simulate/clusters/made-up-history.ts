import {
  accessSchema,
  admitted,
  approved,
  type ClusterRecord,
  decisionSchema,
  draft,
  type EventDraft,
  identitySchema,
  leaving,
  left,
  provisioned,
} from '@rollcall/shared/events';

/** Marks the clusters of a run for people, and for the events that only speak of a cluster's labels. */
export const simulatedLabel = { simulated: 'true' } as const;

/** What is the same for all clusters of a run. */
export interface MadeUpBy {
  readonly run: string;
  readonly heartbeat: { readonly intervalSeconds: number; readonly graceSeconds: number };
  readonly nowMs: number;
}

export interface MadeUpCluster {
  readonly id: string;
  readonly key: string;
  readonly isShown: boolean;
}

const by = { service: 'simulate' };
const what = { by, reason: 'Simulated', message: 'made up by rollcall simulate' };

/**
 * The history of a cluster that is made up, as far as liveness and projection need it: each step on the record after the one
 * before. The request is never open, so nobody judges it; access comes before the approval, so nobody makes it.
 */
export const madeUpSteps = [
  (on, { id, key, isShown }, { run, nowMs }) =>
    draft(admitted, on, {
      ...what,
      section: identitySchema.parse({
        state: 'admitted',
        clusterId: id,
        clientId: id,
        clusterName: id,
        request: {
          id: `${run}-request`,
          key,
          keyFingerprint: 'simulated',
          tokenId: 'simulated',
          tokenName: 'simulated',
          labels: simulatedLabel,
          claimed: {},
          requestedAtMs: nowMs,
        },
        admittedKey: key,
        admittedAtMs: nowMs,
        simulated: { run, isShown },
      }),
    }),
  (on, { id }, { run, nowMs }) =>
    draft(provisioned, on, {
      ...what,
      section: accessSchema.parse({
        state: 'provisioned',
        namespace: id,
        requestId: `${run}-request`,
        atMs: nowMs,
      }),
    }),
  (on, { id, key, isShown }, { run, heartbeat, nowMs }) =>
    draft(approved, on, {
      ...what,
      section: decisionSchema.parse({
        verdict: 'approved',
        requestId: `${run}-request`,
        key,
        approvedKey: key,
        clusterName: id,
        namespace: id,
        labels: simulatedLabel,
        heartbeat,
        ...what,
        simulated: { run, isShown },
        decidedAtMs: nowMs,
      }),
    }),
] as const satisfies readonly ((
  on: Pick<ClusterRecord, 'aggregate' | 'head'>,
  cluster: MadeUpCluster,
  run: MadeUpBy,
) => EventDraft)[];

/**
 * A cluster that is made up begins to leave, as the approver decides it of one that a person deleted; the services do the rest. It
 * has no key that a server knows, so none is taken back: on the list they would push out others. Nothing for a real one.
 */
export function madeUpLeaving({ decision, ...record }: ClusterRecord, nowMs: number): EventDraft[] {
  if (decision?.simulated === undefined || decision.verdict !== 'approved') return [];
  const { approvedKey: _out, ...rest } = decision;
  const section = { ...rest, ...what, verdict: 'leaving' as const, decidedAtMs: nowMs };
  return [draft(leaving, record, { ...what, section })];
}

/** The end of a cluster that is made up; nothing for one that has left, and for a real one whatever its name is. */
export function madeUpEnd(record: ClusterRecord): EventDraft[] {
  const { identity } = record;
  if (identity?.simulated === undefined || identity.state === 'left') return [];
  const { admittedKey: _gone, ...rest } = identity;
  return [draft(left, record, { ...what, section: { ...rest, state: 'left' } })];
}
