import { RollcallError } from '@rollcall/shared/errors';
import type { AggregateRecord, EventDraft } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../tests/harness/events.ts';
import { createLogLines } from '@rollcall/agent';
import { keysSecret, tokenSecret } from './hosted-agent.ts';
import { createHostedMembers } from './hosted-members.ts';

const kubeconfig = { secret: 'edge-kubeconfig', sinceMs: 1 };
/** A member whose installed agent has asked. */
const record = {
  aggregate: { kind: 'cluster', id: 'edge' },
  lastOf: {
    registrar: { section: anIdentity() },
    approver: {
      section: aDecision({
        verdict: 'approved',
        predefined: { clusterType: 'Standard', mode: 'Pull', kubeconfig },
      }),
    },
  },
} as unknown as AggregateRecord;

test('what became of a member is told once the bus takes it, however often it did not', async () => {
  const told = Promise.withResolvers<readonly EventDraft[]>();
  let failures = 0;
  const log = {
    read: async () => record,
    async append(drafts: readonly EventDraft[]) {
      if (failures++ < 2) throw new RollcallError('BUS_UNREACHABLE', 'the bus is away');
      told.resolve(drafts);
      return [];
    },
  };
  const unused = () => Promise.reject(new Error('an installed agent needs nothing'));
  const members = createHostedMembers(log as unknown as Parameters<typeof createHostedMembers>[0], {
    client: { get: unused } as never,
    hub: ['127.0.0.1:1'],
    hubCaPem: '',
    agentImage: 'agent',
    render: () => '',
    accessOf: () => {
      throw new Error('an installed agent needs nothing');
    },
    nowMs: () => 1,
    logger: createLogLines('error', () => undefined),
  });
  members.look('edge');
  const [installed] = await told.promise;
  expect(installed?.definition.type).toBe('agent-installed');
  await members.stop();
});

test('no cluster has an id by which its keys would lie in the Secret of another one', () => {
  const ids = ['x', 'token-x', 'x-token', 'token'];
  const names = ids.flatMap((id) => [keysSecret(id), tokenSecret(id)]);
  expect(new Set(names).size).toBe(names.length);
});
