import { decideAndAppend } from '@rollcall/shared/decisions';
import { type ClusterRecord, clusterRecord, denied, draft } from '@rollcall/shared/events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aDecision } from '../harness/events.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** docs/security/threat-model.md, "What is not defended": who writes events of a cluster all the time. */
let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const section = aDecision({ verdict: 'denied' });
const deny = (record: ClusterRecord) => [draft(denied, record, { reason: 'Test', message: 'm', section })];

test('a service that writes events of one cluster all the time keeps it from being decided about, and no other one; afterwards the decision counts', async () => {
  const [approver, thief] = [await hub.openLog('approver'), await hub.connectAs('heartbeat')];
  const victim = { kind: 'cluster', id: 'victim' } as const;
  let isFlooding = true;
  const decideAbout = (id: string) => {
    const gather = async () => {
      const record = clusterRecord(await approver.read({ kind: 'cluster', id }));
      // Between look and word, each time: 600 a second do that (measured), with garbage as well.
      if (isFlooding) await thief.request(`rollcall.events.cluster.${victim.id}.ready`, '{}');
      return record;
    };
    return decideAndAppend(approver, { gather, decide: deny }, { correlation: 'test' });
  };
  await expect(decideAbout(victim.id)).rejects.toMatchObject({ code: 'APPEND_CONFLICT', retry: true });
  expect((await decideAbout('other')).drafts).toHaveLength(1);
  isFlooding = false;
  await decideAbout(victim.id);
  expect(clusterRecord(await approver.read(victim)).decision?.verdict).toBe('denied');
});
