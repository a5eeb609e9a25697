import { randomUUID } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import { connectWithCredentials, connectWithToken, type RawAgent } from '../../tests/harness/raw-agent.ts';
import { serveInProcess } from '../../tests/harness/service-process.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { openUsageWindow, type UsageWindow } from '../report/usage-window.ts';

/** What letting agents in costs the registrar, which runs in a process of its own. */
export interface CalloutResult {
  readonly callouts: number;
  /** Connections with a token, each by a new key: judged, and given a credential. Per second of the registrar's CPU time. */
  readonly calloutsPerCoreSecond: number;
  readonly renewals: number;
  /** Asks of members, each answered with a new credential. Per second of the registrar's CPU time. */
  readonly renewalsPerCoreSecond: number;
  readonly cpuMsPerCallout: Readonly<Record<string, number>>;
}

const atOnce = 32;
const warmUpCallouts = 300;
/** An agent may ask 40 times at once (the registrar's request budget); its first requests are among them. */
const renewalsOfOneAgent = 30;

const registrarName = 'registrar';
const serverName = 'nats-server';

type Token = Awaited<ReturnType<typeof declareToken>>;

async function connectOnce(hub: TestHub, token: Token): Promise<void> {
  const agent = await connectWithToken(hub, token);
  await agent.nc.close();
}

/** A cluster that came in as all do, and its connection as a member. */
async function admit(hub: TestHub, given: { token: Token; approver: Log }): Promise<Member> {
  const { token, approver } = given;
  const clusterId: string = randomUUID();
  const body = {
    clusterId,
    clusterName: `c-${clusterId.slice(0, 13)}`,
    tokenKey: token.key.publicKey,
    facts: { kubernetesVersion: 'v1.36.3' },
  };
  await using agent = await connectWithToken(hub, token);
  await agent.request('join', body, { signers: [agent.key, token.key] });
  const news = agent.nextNews();
  await decideAs(approver, clusterId, 'approved');
  const { result } = await news;
  if (result.kind !== 'admitted') throw new RollcallError('UNEXPECTED', `a member was told ${result.kind}`);
  const credentials = { jwt: result.credentials, seed: agent.key.seed };
  return { clusterId, agent: await connectWithCredentials(hub, agent.key, credentials) };
}

type Log = Awaited<ReturnType<TestHub['openLog']>>;
interface Member {
  readonly clusterId: string;
  readonly agent: RawAgent;
}

async function renew({ clusterId, agent }: Member): Promise<void> {
  const { result } = await agent.request('renew', { clusterId });
  if (result.kind !== 'admitted') throw new RollcallError('UNEXPECTED', `a renewal was told ${result.kind}`);
}

async function renewInTurn(member: Member): Promise<void> {
  for (let turn = 0; turn < renewalsOfOneAgent; turn++) await renew(member);
}

function perCoreSecond(count: number, { cpuMs }: UsageWindow): number {
  return (count * 1000) / (cpuMs[registrarName] ?? Number.NaN);
}

export async function measureCallout(
  callouts: number,
  say: (message: string) => void,
): Promise<CalloutResult> {
  await using hub = await startTestHub();
  const settings = { ...hub.serviceSettings('registrar'), logLevel: 'info' };
  await using registrar = await serveInProcess('registrar', {
    label: 'registrar-1',
    stateDir: hub.stateDir,
    settings,
  });
  const pids = { [registrarName]: registrar.pid, [serverName]: hub.natsServer.pid(), clients: process.pid };
  const approver = await hub.openLog('approver');
  const token = await declareToken(approver, hub.hub.hubId, { uses: 'unlimited' });

  const connect = (count: number) =>
    inParallel(Array.from({ length: count }), atOnce, () => connectOnce(hub, token));
  await connect(warmUpCallouts);
  say(`${callouts} connections with a token, ${atOnce} at a time`);
  const endCallouts = openUsageWindow(pids);
  await connect(callouts);
  const called = endCallouts();

  const count = Math.ceil(callouts / renewalsOfOneAgent);
  const members = await inParallel(Array.from({ length: count }), atOnce, () =>
    admit(hub, { token, approver }),
  );
  say(`${count * renewalsOfOneAgent} renewals by ${count} members`);
  const endRenewals = openUsageWindow(pids);
  await inParallel(members, atOnce, renewInTurn);
  const renewed = endRenewals();
  await Promise.all(members.map(({ agent }) => agent.nc.close()));
  return {
    callouts,
    calloutsPerCoreSecond: perCoreSecond(callouts, called),
    renewals: count * renewalsOfOneAgent,
    renewalsPerCoreSecond: perCoreSecond(count * renewalsOfOneAgent, renewed),
    cpuMsPerCallout: Object.fromEntries(
      Object.entries(called.cpuMs).map(([name, ms]) => [name, ms / callouts]),
    ),
  };
}
