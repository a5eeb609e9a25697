import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeHeartbeat } from '@rollcall/shared/bus/heartbeat';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { heldOperationsPlace, readShownOperations, type ShownOperations } from '@rollcall/shared/resources';
import { directoryKeyStore } from '@rollcall/agent';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import { runCli } from '../../cli/tests/run-cli.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { type ReadSample, readOpenMetrics } from '../harness/open-metrics.ts';
import { connectWithCredentials } from '../harness/raw-agent.ts';

let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({
    // The first one passes; a second one within the minute is a bulk change.
    settings: {
      approver: { bulkPerMinute: '1', bulkShare: '0' },
      heartbeat: { floodWindow: '1s' },
      projector: { healthPort: '0' },
    },
  });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', hub.up.plane.adminKubeconfigPath]);

async function join(name: string) {
  const agent = await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  return agent;
}

async function shown(): Promise<ShownOperations> {
  const { name, namespace } = heldOperationsPlace;
  const found = await hub.up.admin.get<KubeObject & { data?: Record<string, string> }>(resources.configMaps, {
    name,
    namespace,
  });
  return readShownOperations(found?.data);
}

/** How often the projector has counted a write of the ConfigMap. */
async function countedWrites(): Promise<number> {
  const projector = hub.up.services.find(({ name }) => name === 'projector');
  const text = await (await fetch(`http://127.0.0.1:${projector?.healthPort}/metrics`)).text();
  const samples = readOpenMetrics(text).get('rollcall_kubernetes_writes')?.samples ?? [];
  const isIt = ({ labels }: ReadSample) =>
    labels.get('kind') === 'ConfigMap' && labels.get('what') === 'shape';
  return samples.find(isIt)?.value ?? 0;
}

test('what is held is shown where people look, and confirm waits until the hub has acted on it', async () => {
  for (const name of ['mass-1', 'mass-2', 'mass-3', 'mass-4']) await join(name);
  expect(await rollcall('get', 'operations')).toMatchObject({ code: 0, stdout: '' });
  expect(await rollcall('revoke', 'mass-1')).toMatchObject({ code: 0 });
  const second = await rollcall('revoke', 'mass-2');
  expect(second.stderr).toMatch(/the hub holds it.*rollcall confirm b-[0-9a-f]{10}/);
  expect(second.code).toBe(4);
  const third = await rollcall('unregister', 'mass-3');
  expect(third.stderr).toContain('the hub holds it');
  expect(third.code).toBe(4);
  await until('its status says so', async () =>
    conditionOf(await hub.cluster('mass-3'), 'Deleting')?.message?.includes('rollcall get operations'),
  );
  const { held } = await until('both are shown', async () => {
    const now = await shown();
    return now.held?.operations.length === 2 && now;
  });
  await until('its writes are counted', async () => (await countedWrites()) > 0);
  const id = held?.id ?? '';
  const table = await rollcall('get', 'operations');
  expect(table.stdout).toMatch(new RegExp(`${id} +mass-2 +revoked +rollcall-admin +held`));
  expect(table.stdout).toMatch(new RegExp(`${id} +mass-3 +leaving`));
  expect((await rollcall('status')).stdout).toContain(`rollcall confirm ${id}`);

  const unknown = await rollcall('confirm', 'b-0000000000');
  expect(unknown.stderr).toContain(`what is held now has the id ${id}`);
  expect(unknown.code).toBe(1);
  const confirmed = await rollcall('confirm', id);
  expect(confirmed.stdout).toContain('the hub has acted on it: 1 revoked (mass-2), 1 leaving (mass-3)');
  expect(confirmed.code).toBe(0);
  const out = await until('mass-2 is out', async () => {
    const accepted = conditionOf(await hub.cluster('mass-2'), 'Accepted');
    return accepted?.status === 'False' && accepted;
  });
  expect(out.reason).toBe('PersonRevoked');
  await until('mass-3 is gone', async () => (await hub.cluster('mass-3')) === undefined);
  expect((await shown()).held).toBeUndefined();
  expect((await hub.cluster('mass-4'))?.metadata?.deletionTimestamp).toBeUndefined();
});

test('an agent that floods the hub is revoked and cut, under the same limit as the operations of people', async () => {
  const flooder = await join('flooder');
  await flooder.agent.stop();
  const state = await directoryKeyStore(flooder.directory).load();
  const jwt = state?.member?.jwt ?? '';
  const seed = state?.seed ?? '';
  const asked = { address: hub.up.natsAddress, hub: hub.up.hub };
  const { nc } = await connectWithCredentials(asked, nkeyFromSeed(seed), { jwt, seed });
  const heartbeat = encodeHeartbeat({ flags: 0, agentTimeMs: Date.now() });
  const sending = setInterval(() => {
    for (let count = 0; count < 10 && !nc.isClosed(); count++)
      nc.publish(`rollcall.heartbeat.${state?.clusterId ?? ''}`, heartbeat);
  }, 50);
  try {
    const accepted = await until('the flooder is out', async () => {
      // If a person has used up the minute, what the hub itself wants to put out is held as well.
      const { held } = await shown();
      if (held) await rollcall('confirm', held.id, '--no-wait');
      const now = conditionOf(await hub.cluster('flooder'), 'Accepted');
      return now?.status === 'False' && now;
    });
    expect(accepted).toMatchObject({
      reason: 'Flooding',
      message: expect.stringContaining('floods the hub'),
    });
    expect(String(await nc.closed())).toMatch(/revoked|authorization|expired/i);
  } finally {
    clearInterval(sending);
    await nc.close();
  }
});
