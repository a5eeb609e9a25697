import { type AggregateRecord, clusterRecord } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDecision } from '../../tests/harness/events.ts';
import { decideHosting, type HostingOutcome } from './hosting-event.ts';

const sinceMs = 1;
const recordWith = ({ state, reason, message }: HostingOutcome) =>
  clusterRecord({
    aggregate: { kind: 'cluster', id: 'edge' },
    lastOf: {
      approver: {
        section: aDecision({
          verdict: 'predefined',
          predefined: {
            clusterType: 'Standard',
            mode: 'Push',
            kubeconfig: { secret: 'edge-kubeconfig', sinceMs },
          },
        }),
      },
      'agent-host': { reason, message, section: { state, sinceMs, atMs: 1 } },
    },
  } as unknown as AggregateRecord);

const missing: HostingOutcome = {
  state: 'failed',
  reason: 'KubeconfigRefused',
  message: 'the Secret rollcall-kubeconfigs/edge-kubeconfig is not there',
};
const said = (outcome: HostingOutcome) =>
  decideHosting({ record: recordWith(missing), hosting: { sinceMs }, outcome, nowMs: 2 });

test('what is said already is not said again', () => {
  expect(said(missing)).toEqual([]);
});

test('of a kubeconfig it is said what is refused of it now, and not what was refused before', () => {
  const message = 'the kubeconfig has no current context';
  expect(said({ ...missing, message })).toMatchObject([{ reason: 'KubeconfigRefused', message }]);
});
