import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import * as registrar from '@rollcall/registrar';
import { type BusCredentials, connectBus, type EventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { clusterRecord, type ClusterRecord } from '@rollcall/shared/events';
import { accountKey, type AccountName } from '@rollcall/shared/rights';
import { decodeJwt } from '@rollcall/shared/trust';
import { expect, vi } from 'vitest';
import { decideAs, declareToken } from '../harness/events.ts';
import { jetStreamSubjects } from '../harness/jetstream-subjects.ts';
import { connectWithCredentials, connectWithToken, type RawAgent } from '../harness/raw-agent.ts';
import { connectRaw, type RawBus, type RawMessage } from '../harness/raw-bus.ts';
import { type BusUserName, startTestHub, type TestHub } from '../harness/test-hub.ts';

/** A real bus with a registrar and a member that was approved: somebody to attack, and everything there is to take. */
export interface Stage extends AsyncDisposable {
  readonly hub: TestHub;
  readonly approverLog: EventLog;
  readonly victim: { readonly clusterId: string; readonly agent: RawAgent };
  victimRecord(): Promise<ClusterRecord>;
  /** Whatever an attack on the bus could have changed for good. */
  state(): Promise<unknown>;
  /** How many questions to that account the NATS server keeps in mind, so that answers find who asked. */
  keptInMind(account: AccountName): Promise<number>;
  /** What the NATS server has written down. */
  serverLog(): string;
  /** A connection with the file of that identity, line by line. */
  steal(role: BusUserName): Promise<RawBus & { readonly user: BusCredentials }>;
}

async function aVictim(hub: TestHub, approverLog: EventLog): Promise<Stage['victim']> {
  const token = await declareToken(approverLog, hub.hub.hubId);
  const clusterId: string = randomUUID();
  const asking = await connectWithToken(hub, token);
  const facts = { kubernetesVersion: 'v1.36.3' };
  const body = { clusterId, clusterName: 'victim', tokenKey: token.key.publicKey, facts };
  await asking.request('join', body, { signers: [asking.key, token.key] });
  await decideAs(approverLog, clusterId, 'approved');
  const { result } = await asking.nextNews();
  if (result.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(result)}`);
  const agent = await connectWithCredentials(hub, asking.key, {
    jwt: result.credentials,
    seed: asking.key.seed,
  });
  await asking.nc.close();
  return { clusterId, agent };
}

export async function startStage(): Promise<Stage> {
  const hub = await startTestHub();
  const values = hub.serviceSettings('registrar');
  const running = await registrar.start(
    loadConfig(registrar.configSchema, { flags: {}, environment: {}, values }),
  );
  const approverLog = await hub.openLog('approver');
  const victim = await aVictim(hub, approverLog);
  const jsm = await jetstreamManager(await hub.connectAsOperator());
  const claims = await connectBus(hub.address, hub.credentialsOf('claims'), 'claims');
  const victimRecord = async () =>
    clusterRecord(await approverLog.read({ kind: 'cluster', id: victim.clusterId }));
  await vi.waitFor(async () => expect((await victimRecord()).identity?.admittedKey).toBeDefined(), 30_000);

  return {
    hub,
    approverLog,
    victim,
    victimRecord,
    async state() {
      const streams = await jsm.streams.list().next();
      const consumers = await jsm.consumers.list('EVENTS').next();
      const lookUp = `$SYS.REQ.ACCOUNT.${hub.hub.keys.agents}.CLAIMS.LOOKUP`;
      const account = (await claims.request(lookUp, '', { timeout: 5000 })).string();
      return {
        streams: streams.map(({ config, state }) => [config.name, state.messages, state.last_seq]),
        consumers: consumers.map(({ name }) => name),
        account,
        connected: !victim.agent.nc.isClosed(),
      };
    },
    async keptInMind(account) {
      const asked = JSON.stringify({ account: accountKey(hub.hub.keys, account) });
      const answer = await claims.request('$SYS.REQ.SERVER.PING.ACCOUNTZ', asked, { timeout: 5000 });
      const { data } = answer.json<{ data?: { account_detail?: { responses?: object } } }>();
      return Object.keys(data?.account_detail?.responses ?? {}).length;
    },
    serverLog: () => readFileSync(join(hub.stateDir, 'logs', 'nats-server.log'), 'utf8'),
    async steal(role) {
      const user = hub.credentialsOf(role);
      return { ...(await connectRaw(hub, user)), user };
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([victim.agent.nc.close(), claims.close(), running.stop()]);
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** One thing that the holder of a stolen identity tries on the bus. */
export interface BusAttack {
  readonly name: string;
  readonly publish?: (stage: Stage) => RawMessage;
  readonly subscribe?: string;
}

/** What somebody tries of JetStream, in each way in which it can be asked. */
export const onJetStream = (
  name: string,
  question: string,
  message: Omit<RawMessage, 'subject'> = { body: '' },
): BusAttack[] =>
  jetStreamSubjects(question).map((subject) => ({
    name: `${name}, as ${subject}`,
    publish: () => ({ subject, ...message }),
  }));

/** The server refuses it, writes down who tried what, and nothing is another than before. */
export async function expectRefused(
  stage: Stage,
  thief: RawBus & { readonly user: BusCredentials },
  attack: BusAttack,
): Promise<void> {
  const before = await stage.state();
  const message = attack.publish?.(stage);
  const subject = message?.subject ?? attack.subscribe ?? '';
  const refused = message
    ? await thief.isRefused(message)
    : (await thief.refusedSubscribe([subject])).has(subject);
  expect(refused).toBe(true);
  const what = message
    ? `Publish Violation - Subject "${subject}"`
    : `Subscription Violation - Subject "${subject}"`;
  const who = decodeJwt(thief.user.jwt)?.sub ?? 'nobody';
  await expect
    .poll(() =>
      stage
        .serverLog()
        .split('\n')
        .some((line) => line.includes(what) && line.includes(who)),
    )
    .toBe(true);
  expect(await stage.state()).toEqual(before);
}

/** An event as its true writer would put it, for somebody who is not that writer. */
export function forgedEvent(type: string, section: unknown): (stage: Stage) => RawMessage {
  return ({ victim, hub }) => ({
    subject: `rollcall.events.cluster.${victim.clusterId}.${type}`,
    headers: {
      'ce-specversion': '1.0',
      'ce-id': 'forged',
      'ce-source': '/rollcall/approver',
      'ce-type': `dev.rollcall.cluster.${type}.v1`,
      'ce-time': new Date().toISOString(),
    },
    body: JSON.stringify({
      epoch: hub.hub.epoch,
      correlation: 'forged',
      reason: 'Forged',
      message: 'forged',
      section,
    }),
  });
}
