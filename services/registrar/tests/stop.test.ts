import { loadConfig } from '@rollcall/shared/config';
import { expect, test } from 'vitest';
import { declareToken } from '../../../tests/harness/events.ts';
import { connectWithToken } from '../../../tests/harness/raw-agent.ts';
import { startTestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

const none = { flags: {}, environment: {} };

test('it stops while the bus is away, with all its connections', async () => {
  await using hub = await startTestHub();
  const config = loadConfig(configSchema, { ...none, values: hub.serviceSettings('registrar') });
  const registrar = await start(config);
  await hub.natsServer.kill();
  await registrar.stop();
  expect(registrar.notReady()).toBe('stopping');
});

test('it lets agents in again after the server was killed', async () => {
  await using hub = await startTestHub();
  const config = loadConfig(configSchema, { ...none, values: hub.serviceSettings('registrar') });
  const registrar = await start(config);
  const token = await declareToken(await hub.openLog('approver'), hub.hub.hubId);
  await hub.natsServer.kill();
  await hub.natsServer.restart();
  // Until the callout is connected again the server refuses; an agent asks until it is answered.
  let agent;
  while (!agent) agent = await connectWithToken(hub, token).catch(() => undefined);
  const { kind } = (
    await agent.request(
      'join',
      { clusterId: 'id-1', clusterName: 'one', tokenKey: token.key.publicKey, facts: {} },
      { signers: [agent.key, token.key] },
    )
  ).result;
  expect(kind).toBe('waiting');
  await agent[Symbol.asyncDispose]();
  await registrar.stop();
});
