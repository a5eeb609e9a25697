import type { EventLog } from '@rollcall/shared/bus';
import { spkiPin } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aLeaf, anotherCa, tlsImpostor } from '../../tests/attacks/impostor.ts';
import { declareToken } from '../../tests/harness/events.ts';
import type { TestHub } from '../../tests/harness/test-hub.ts';
import type { AgentOptions } from '../main.ts';
import { type AgentUnderTest, startAgent } from './agent-under-test.ts';
import { type RegisteringHub, startRegisteringHub } from './registering-hub.ts';

/** No DNS knows it. */
const hubName = 'hub.rollcall.test';
const aliases = (name: string) => ({ hostAliases: { [name]: '127.0.0.1' } });

let world: RegisteringHub;
let hub: TestHub;
let approverLog: EventLog;
let count = 0;

beforeAll(async () => {
  world = await startRegisteringHub({ advertised: [hubName] });
  ({ hub, approverLog } = world);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** An agent with a token of its own. */
async function aNewAgent(more: Partial<AgentOptions>): Promise<AgentUnderTest> {
  const { text } = await declareToken(approverLog, hub.hub.hubId);
  return startAgent(hub, { token: text, clientId: `over-there-${count++}`, ...more });
}

const asks = ({ heard }: AgentUnderTest) => heard.next(({ phase }) => phase === 'waiting');
const failure = async ({ heard }: AgentUnderTest) =>
  (await heard.next(({ detail }) => detail.code !== undefined)).detail.code;

test.each(['ca', 'pin'] as const)(
  'a hub whose name only a host alias knows is reached, known by its %s',
  async (by) => {
    const { caPem } = hub.address;
    await using agent = await aNewAgent({
      hub: [`${hubName}:${hub.port}`],
      network: aliases(hubName),
      trust: by === 'ca' ? { caPem } : { pins: [spkiPin(caPem)] },
    });
    expect((await asks(agent)).detail.clusterId).toBeDefined();
  },
);

test('behind a host alias the certificate has to be for the name, not for the address', async () => {
  const other = 'other.rollcall.test';
  await using agent = await aNewAgent({ hub: [`${other}:${hub.port}`], network: aliases(other) });
  expect(await failure(agent)).toBe('HUB_CERT_NAME');
});

test('of several addresses one that is the hub is enough: others may be away, or somebody else', async () => {
  const ca = anotherCa();
  await using impostor = await tlsImpostor(aLeaf(ca), { shown: ca.certificatePem });
  await using agent = await aNewAgent({
    hub: ['127.0.0.1:1', impostor.address, `127.0.0.1:${hub.port}`],
    trust: { pins: [spkiPin(hub.address.caPem)] },
  });
  await asks(agent);
  expect(impostor.heard().throughTls).toBe('');
});

test('where none is the hub, the one that is somebody else is what people are told', async () => {
  const ca = anotherCa();
  await using impostor = await tlsImpostor(aLeaf(ca), { shown: ca.certificatePem });
  await using agent = await aNewAgent({ hub: ['127.0.0.1:1', impostor.address] });
  const { detail, message } = await agent.heard.next((event) => event.detail.code !== undefined);
  expect(detail.code).toBe('HUB_CA_WRONG');
  expect(message).toContain(impostor.address);
});
