import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { type EventLog, openEventLog, streamState } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import {
  clusterRecord,
  nameRecord,
  type StoredEvent,
  type TokenDeclaration,
  tokenRecord,
} from '@rollcall/shared/events';
import type { ReplyResult } from '@rollcall/shared/protocol';
import { type Nkey, type RegistrationToken, tokenIdOf } from '@rollcall/shared/trust';
import * as registrar from '@rollcall/registrar';
import { onTestFinished, vi } from 'vitest';
import { declareToken } from '../harness/events.ts';
import { connectWithToken, type RawAgent } from '../harness/raw-agent.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';
import { beginSecondEpoch } from './second-epoch.ts';

/** A real bus with registrars; who decides and declares is the test, so nothing happens that it did not cause. */
export interface AttackedRegistrar extends AsyncDisposable {
  readonly hub: TestHub;
  readonly approverLog: EventLog;
  readonly opsLog: EventLog;
  readonly ops: NatsConnection;
  /** What the whole history gained meanwhile: empty means that nothing changed anywhere. */
  eventsDuring<Result>(work: () => Promise<Result>): Promise<{ result: Result; events: string[] }>;
  /** Why the connection of that key was refused, as the registrar's log says it. */
  refusalOf(nkey: string): Promise<string>;
  cluster(id: string): Promise<ReturnType<typeof clusterRecord>>;
  holderOf(name: string): Promise<string | undefined>;
  /** A good token, but for what the test says. */
  declare(overrides?: Partial<TokenDeclaration>): ReturnType<typeof declareToken>;
  /** Who holds that token, until the end of the test. */
  agent(token: Pick<RegistrationToken, 'key'>, key?: Nkey): Promise<RawAgent>;
  /** How often the token was used. */
  uses(token: Pick<RegistrationToken, 'key'>): Promise<number>;
}

export async function startAttackedRegistrar({
  replicas = 1,
  backupTakenAtMs,
}: { replicas?: number; backupTakenAtMs?: number } = {}): Promise<AttackedRegistrar> {
  const hub = await startTestHub();
  if (backupTakenAtMs !== undefined) await beginSecondEpoch(hub, 'registrar', backupTakenAtMs);
  const values = hub.serviceSettings('registrar');
  const config = loadConfig(registrar.configSchema, { flags: {}, environment: {}, values });
  const services = await Promise.all(Array.from({ length: replicas }, () => registrar.start(config)));
  const approverLog = await hub.openLog('approver');
  const ops = await hub.connectAs('inspector');
  const opsLog = await openEventLog(ops, { epoch: hub.hub.epoch, source: '/rollcall/test' });

  async function eventsFrom(fromSequence: number): Promise<StoredEvent[]> {
    return Array.fromAsync(opsLog.scan({ fromSequence }));
  }
  async function lastSequence(): Promise<number> {
    return (await streamState(ops, 'EVENTS')).lastSequence;
  }

  return {
    hub,
    approverLog,
    opsLog,
    ops,
    async eventsDuring(work) {
      const before = await lastSequence();
      const result = await work();
      const events = await eventsFrom(before + 1);
      return { result, events: events.map(({ kind, type }) => `${kind}.${type}`) };
    },
    refusalOf: (nkey) =>
      vi.waitFor(
        () => {
          const lines = readFileSync(join(hub.stateDir, 'logs', 'registrar.log'), 'utf8').split('\n');
          const line = lines.findLast((text) => text.includes(nkey) && text.includes('connection refused'));
          if (line === undefined) throw new Error('the refusal is not in the log');
          return (JSON.parse(line) as { reason: string }).reason;
        },
        { timeout: 30_000 },
      ),
    cluster: async (id) => clusterRecord(await opsLog.read({ kind: 'cluster', id })),
    holderOf: async (id) => nameRecord(await opsLog.read({ kind: 'name', id })).holder,
    uses: async ({ key }) =>
      tokenRecord(await opsLog.read({ kind: 'token', id: tokenIdOf(key.publicKey) })).uses?.used ?? 0,
    declare: (overrides) => declareToken(approverLog, hub.hub.hubId, overrides),
    async agent(token, key) {
      const agent = await connectWithToken(hub, token, key ? { key } : {});
      onTestFinished(() => agent.nc.close());
      return agent;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service.stop()));
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** The code of a refusal, or what else the answer is. */
export function outcomeOf(result: ReplyResult): string {
  return result.kind === 'refused' ? result.code : result.kind;
}

/** What the server says to that client while the work runs; a round trip afterwards makes sure that it has spoken. */
export async function refusedWhile(nc: NatsConnection, work: () => void): Promise<string[]> {
  const refused: string[] = [];
  const status = nc.status();
  void (async () => {
    for await (const event of status) if (event.type === 'error') refused.push(event.error.message);
  })();
  work();
  await nc.flush();
  await nc.flush();
  return refused;
}
