import { connect } from '@nats-io/transport-node';
import { startSimulatedAgent, type SimulatedAgent } from '@rollcall/agent/simulated-agent';
import { connectionOptions } from '@rollcall/shared/bus';
import type { ReplyResult } from '@rollcall/shared/protocol';
import type { RunningService } from '@rollcall/shared/service';
import { createNkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { expect, onTestFinished, test } from 'vitest';
import * as heartbeat from '../../services/heartbeat/main.ts';
import * as registrar from '../../services/registrar/main.ts';
import { until } from '../harness/embedded.ts';
import { declareToken } from '../harness/events.ts';
import { hearHeartbeats } from '../harness/hear-heartbeats.ts';
import { startHubOfTest } from '../harness/hub-of-test.ts';
import { enrolMembers, type KnownMember } from '../harness/member-fleet.ts';
import { connectWithCredentials, connectWithToken } from '../harness/raw-agent.ts';
import type { TestHub } from '../harness/test-hub.ts';

const minuteMs = 60_000;

function startAgents(hub: TestHub, members: readonly KnownMember[]): SimulatedAgent[] {
  const agents = members.map((known) =>
    startSimulatedAgent({
      cluster: known.clusterId,
      hub: hub.address.servers,
      caPem: hub.address.caPem,
      known,
      onTrouble: () => undefined,
    }),
  );
  onTestFinished(async () => void (await Promise.all(agents.map((agent) => agent.stop()))));
  return agents;
}

async function startService(starting: Promise<RunningService>): Promise<void> {
  const service = await starting;
  onTestFinished(() => service.stop());
}

const startHeartbeat = (hub: TestHub, more: Record<string, string> = {}) =>
  startService(
    heartbeat.start(heartbeat.configSchema.parse({ ...hub.serviceSettings('heartbeat'), ...more })),
  );
const startRegistrar = (hub: TestHub) =>
  startService(registrar.start(registrar.configSchema.parse(hub.serviceSettings('registrar'))));

async function tellFacts(hub: TestHub, { seed, clusterId, member }: KnownMember): Promise<ReplyResult> {
  const credentials = { seed, jwt: member?.jwt ?? '' };
  await using agent = await connectWithCredentials(hub, nkeyFromSeed(seed), credentials);
  return (await agent.request('facts', { clusterId, facts: {} })).result;
}

/** Everything that was written after the members' history. */
async function writtenAfter(hub: TestHub, history: number): Promise<string[]> {
  const log = await hub.openLog('registrar');
  const types: string[] = [];
  for await (const { type } of log.scan({ filter: '>', fromSequence: history + 1 })) types.push(type);
  return types;
}

test('a fleet that lost its hub comes back in its own time, and nobody is called dead', async () => {
  const hub = await startHubOfTest();
  const members = await enrolMembers(hub, { count: 150, endsInMs: 60 * minuteMs });
  const clusterIds = members.map(({ clusterId }) => clusterId);
  const heartbeats = await hearHeartbeats(hub);
  onTestFinished(() => heartbeats.stop());
  // So few that the fleet is a large one.
  await startHeartbeat(hub, { returnsPerSecond: '40' });
  await startRegistrar(hub);
  const told = { kind: 'done', heartbeatIntervalMs: 15_000, returnWithinMs: 10_000 };
  expect(await tellFacts(hub, members[0] as KnownMember)).toMatchObject(told);
  const first = heartbeats.allOf(clusterIds);
  startAgents(hub, members);
  await first;
  await hub.natsServer.kill();
  const again = heartbeats.allOf(clusterIds);
  await hub.natsServer.restart();
  await again;
  const after = await writtenAfter(hub, 6 * members.length);
  expect(after).toEqual(['interval-changed']);
});

test('members whose credentials ended while the registrar was away come back by their keys, whoever else knocks', async () => {
  const hub = await startHubOfTest();
  const members = await enrolMembers(hub, { count: 200, endsInMs: -6 * 60 * minuteMs });
  const heartbeats = await hearHeartbeats(hub);
  onTestFinished(() => heartbeats.stop());
  const back = heartbeats.allOf(members.map(({ clusterId }) => clusterId));
  startAgents(hub, members);
  const over = new AbortController();
  const strangers = Array.from({ length: 50 }, () => knockInVain(hub, over.signal));
  const token = await declareToken(await hub.openLog('approver'), hub.hub.hubId, { uses: 'unlimited' });
  await startHeartbeat(hub);
  await startRegistrar(hub);
  await back;
  // Members come first, and others come too; as an agent does, again where a busy server lets the connection go before TLS stands.
  await using newcomer = await until('a newcomer is let in', () =>
    connectWithToken(hub, token).catch(() => undefined),
  );
  expect(newcomer.nc.isClosed()).toBe(false);
  over.abort();
  await Promise.all(strangers);
});

/** With a token that nobody made, again and again. */
async function knockInVain(hub: TestHub, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const [token, key] = [createNkey('user'), createNkey('user')];
    const proof = (nonce = '') => ({
      nkey: token.publicKey,
      sig: token.sign(nonce),
      user: key.publicKey,
      pass: key.sign(nonce),
    });
    const options = { ...connectionOptions(hub.address, 'stranger'), reconnect: false, authenticator: proof };
    await connect(options).then(
      () => expect.unreachable('a stranger was let in'),
      () => undefined,
    );
  }
}
