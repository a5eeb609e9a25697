import { type AccountName, accountKey } from '@rollcall/shared/rights';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import {
  heartbeatFlags,
  connectBus,
  connectionOptions,
  encodeHeartbeat,
  type EventLog,
  followEvents,
  jwtProof,
  openEventLog,
} from '@rollcall/shared/bus';
import {
  admitted,
  clusterRecord,
  type ClusterRecord,
  draft,
  type Identity,
  requested,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { RunningService } from '@rollcall/shared/service';
import { createNkey, encodeJwt, keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { onTestFinished } from 'vitest';
import { readOfflineKeys } from '../../../cli/up/state/offline-keys.ts';
import { decideAs } from '../../../tests/harness/events.ts';
import type { TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

/** The hub around the heartbeat service: the other services' events, and what people see. */
export interface Surroundings {
  readonly hub: TestHub;
  readonly registrarLog: EventLog;
  readonly approverLog: EventLog;
  readonly opsLog: EventLog;
  readonly ops: NatsConnection;
}

export async function surroundingsOf(hub: TestHub): Promise<Surroundings> {
  const ops = await hub.connectAs('inspector');
  return {
    hub,
    ops,
    opsLog: await openEventLog(ops, { epoch: hub.hub.epoch, source: '/rollcall/test' }),
    registrarLog: await hub.openLog('registrar'),
    approverLog: await hub.openLog('approver'),
  };
}

/** Runs until the end of the test that started it. */
export async function startHeartbeat(
  hub: TestHub,
  settings: Record<string, string> = {},
): Promise<RunningService> {
  const service = await start(configSchema.parse({ ...hub.serviceSettings('heartbeat'), ...settings }));
  onTestFinished(() => service.stop());
  return service;
}

/**
 * Has the server take other claims of an account, signed as the hub's own are.
 * @param change.aheadMs - the later of two claims holds, and they are told apart by the second; default: 1 s after those of the start
 * @returns their JWT
 */
export async function pushClaims(
  hub: TestHub,
  change: { account: AccountName; nats: Record<string, unknown>; aheadMs?: number },
): Promise<string> {
  const { account: name, nats, aheadMs = 1000 } = change;
  const { keys } = hub.hub;
  const { operatorSigners } = readOfflineKeys(hub.stateDir);
  const what = { subject: accountKey(keys, name), name, nowMs: Date.now() + aheadMs, nats };
  const jwt = encodeJwt(what, nkeyFromSeed(operatorSigners[0] ?? ''));
  const sys = await connectBus(hub.address, hub.credentialsOf('claims'), 'claims');
  await sys.request('$SYS.REQ.CLAIMS.UPDATE', jwt);
  await sys.close();
  return jwt;
}

/** A member as the registrar and the approver have let it in: requested, approved, admitted. */
export interface Member {
  readonly clusterId: string;
  /** @param name - of the connection, as its server tells it */
  connect(name?: string): Promise<NatsConnection>;
  record(): Promise<ClusterRecord>;
  /** The next event of that type after `fromSequence`, now or later. */
  event(type: string, fromSequence?: number): Promise<StoredEvent>;
  /** All events of the heartbeat service about it, oldest first. */
  history(): Promise<string[]>;
}

export async function admitMember(
  { hub, registrarLog, approverLog, ops, opsLog }: Surroundings,
  clusterId: string,
  heartbeat: { intervalSeconds: number; graceSeconds: number },
): Promise<Member> {
  const key = createNkey('user');
  const credentials = hub.agentCredentials('member', clusterId, { seed: key.seed });
  const aggregate = { kind: 'cluster', id: clusterId } as const;
  const identity: Identity = {
    state: 'requested',
    clusterId,
    clusterName: clusterId,
    clusterType: 'Standard',
    mode: 'Pull',
    request: {
      id: `request-${clusterId}`,
      key: key.publicKey,
      keyFingerprint: keyFingerprint(key.publicKey),
      tokenId: 'token',
      tokenName: 'rollcall-join/test',
      labels: {},
      droppedLabels: [],
      claimed: { labels: {} },
      requestedAtMs: Date.now(),
    },
  };
  const trace = { correlation: identity.request.id };
  const what = { reason: 'Requested', message: 'asked by a test', section: identity };
  await registrarLog.append([draft(requested, { aggregate, head: undefined }, what)], trace);
  await decideAs(approverLog, clusterId, 'approved', { heartbeat });
  const section: Identity = {
    ...identity,
    state: 'admitted',
    admittedKey: key.publicKey,
    admittedAtMs: Date.now(),
  };
  const record = await registrarLog.read(aggregate);
  await registrarLog.append([draft(admitted, record, { ...what, reason: 'Admitted', section })], trace);

  return {
    clusterId,
    connect: (name = 'agent') =>
      connect({
        ...connectionOptions(hub.address, name),
        reconnect: false,
        authenticator: jwtProof(credentials),
      }),
    record: async () => clusterRecord(await opsLog.read(aggregate)),
    async event(type, fromSequence = 1) {
      const stop = new AbortController();
      const filter = `cluster.${clusterId}.*`;
      for await (const event of followEvents(ops, opsLog, { filter, fromSequence, signal: stop.signal })) {
        if (event.type === type) return event;
      }
      throw new Error(`no ${type} of ${clusterId}`);
    },
    async history() {
      const types: string[] = [];
      for await (const event of opsLog.scan({ filter: `cluster.${clusterId}.*` })) {
        if (event.definition.writer === 'heartbeat') types.push(event.type);
      }
      return types;
    },
  };
}

export function sendHeartbeat(nc: NatsConnection, clusterId: string, flags = 0): void {
  nc.publish(`rollcall.heartbeat.${clusterId}`, encodeHeartbeat({ flags, agentTimeMs: Date.now() }));
}

export function sayGoodbye(nc: NatsConnection, clusterId: string): void {
  sendHeartbeat(nc, clusterId, heartbeatFlags.goodbye);
}

/** Sends heartbeats, at once and then every 300 ms, until it is stopped or its connection ends. */
export function keepSendingHeartbeats(nc: NatsConnection, clusterId: string): () => void {
  const once = () => {
    if (!nc.isClosed() && !nc.isDraining()) sendHeartbeat(nc, clusterId);
  };
  once();
  const timer = setInterval(once, 300);
  return () => clearInterval(timer);
}

/** What `rollcall.live.<id>` says from now on, as `state reason`. */
export async function liveLines(
  ops: NatsConnection,
  clusterId: string,
): Promise<{ readonly lines: readonly string[]; next(line: string): Promise<void> }> {
  const lines: string[] = [];
  let woken = Promise.withResolvers<void>();
  ops.subscribe(`rollcall.live.${clusterId}`, {
    callback: (error, message) => {
      if (error) return;
      const { state, reason } = message.json<{ state: string; reason: string }>();
      lines.push(`${state} ${reason}`);
      woken.resolve();
    },
  });
  await ops.flush();
  return {
    lines,
    async next(line) {
      while (!lines.includes(line)) {
        woken = Promise.withResolvers<void>();
        await woken.promise;
      }
    },
  };
}
