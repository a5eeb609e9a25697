import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { joinReplicas } from '../write/ask-replicas.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** A replica that heard these clusters so many ms ago. */
async function aReplica(agesMs: Readonly<Record<string, number>>) {
  const nc = await hub.connectAs('heartbeat');
  const replicas = joinReplicas(nc, (clusterId) => agesMs[clusterId]);
  await nc.flush();
  return { nc, replicas };
}

test("the youngest heartbeat of all other replicas is told, never one's own", async () => {
  const me = await aReplica({ a: 1, b: 1, c: 1 });
  await aReplica({ a: 500, b: 40 });
  await aReplica({ a: 300 });
  expect(await me.replicas.youngest(['a', 'b', 'c'])).toEqual([300, 40, undefined]);
});

test('garbage in question and answer is ignored', async () => {
  const me = await aReplica({});
  const other = await aReplica({});
  other.nc.subscribe('rollcall.liveness.youngest', {
    callback: (_error, message) => void message.respond('{"agesMs":[-1]}'),
  });
  await other.nc.flush();
  other.nc.publish('rollcall.liveness.youngest', 'garbage');
  expect(await me.replicas.youngest(['none'])).toEqual([undefined]);
});
