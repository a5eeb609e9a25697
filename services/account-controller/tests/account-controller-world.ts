import { readFileSync } from 'node:fs';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import {
  type BusCredentials,
  connectBus,
  connectionOptions,
  followEvents,
  jwtProof,
} from '@rollcall/shared/bus';
import { approved, clusterRecord, type ClusterRecord, draft, revoked } from '@rollcall/shared/events';
import type { HubKeys } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { readOfflineKeys } from '../../../cli/up/state/offline-keys.ts';
import { aDecision } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';
import { createSystemAccount, type SystemAccount } from '../system-account.ts';

export interface AccountControllerWorld extends AsyncDisposable {
  readonly hub: TestHub;
  /** The SYS user of the account-controller, to look at what it did and to do harm. */
  readonly system: SystemAccount;
  readonly keys: HubKeys;
  startController(): Promise<AsyncDisposable & { notReady(): string | undefined }>;
  /** Appends a word of the approver: who is approved has no key taken back; who is revoked, or leaves (a `revoked` too), has these. */
  say(
    word: 'approved' | 'revoked' | 'leaving',
    clusterId: string,
    keys?: readonly (string | { key: string; rotated?: true; atMs?: number })[],
    approvedKey?: string,
  ): Promise<void>;
  /** The record, once it has a `cut` after the approver's last word. */
  cut(clusterId: string): Promise<ClusterRecord>;
  /**
   * Connects as an agent does, or says how it was refused.
   * @param shownUser - what the server shows as the user instead of the key: for users of the callout, that is their name
   */
  tryAs(credentials: BusCredentials, shownUser?: string): Promise<NatsConnection | string>;
  /** A user of the servers' own account, who hears what they are asked. */
  connectSystem(): Promise<NatsConnection>;
  /** @param meanwhile - while the server is down */
  killAndRestartServer(meanwhile?: () => void): Promise<void>;
  /** The revocation list that the server has stored. */
  stored(): Promise<Record<string, number>>;
}

export async function startWorld(): Promise<AccountControllerWorld> {
  const hub = await startTestHub();
  const settings = hub.serviceSettings('account-controller');
  const identity = JSON.parse(readFileSync(settings['identityFile'] ?? '', 'utf8')) as {
    sys: BusCredentials;
    hubKeys: HubKeys;
  };
  const connections: NatsConnection[] = [];
  const openSystem = async () => {
    const nc = await connectBus(hub.address, identity.sys, 'claims');
    connections.push(nc);
    return createSystemAccount(nc);
  };
  let system = await openSystem();
  let approver = await hub.openLog('approver');
  const watcher = await hub.connectAs('inspector');
  const read = async (id: string) => clusterRecord(await approver.read({ kind: 'cluster', id }));

  return {
    hub,
    get system() {
      return system;
    },
    keys: identity.hubKeys,
    async startController() {
      const running = await start(configSchema.parse({ ...settings, checkInterval: '1s' }));
      return { notReady: () => running.notReady(), [Symbol.asyncDispose]: () => running.stop() };
    },
    async say(word, clusterId, keys = [], approvedKey = 'K1') {
      const record = await read(clusterId);
      const section = aDecision({
        verdict: word,
        requestId: 'R1',
        key: 'K1',
        ...(word === 'approved' ? { approvedKey } : {}),
        clusterName: clusterId,
        namespace: clusterId,
        by: { person: 'test' },
        decidedAtMs: Date.now(),
        revokedKeys: keys.map((key) => ({
          atMs: Date.now(),
          ...(typeof key === 'string' ? { key } : key),
        })),
      });
      const definition = word === 'approved' ? approved : revoked;
      await approver.append([draft(definition, record, { reason: 'Test', message: 'm', section })], {
        correlation: 'test',
      });
    },
    async cut(clusterId) {
      const stop = new AbortController();
      const follow = { filter: `cluster.${clusterId}.*`, fromSequence: 1, signal: stop.signal };
      try {
        for await (const event of followEvents(watcher, approver, follow)) {
          if (event.type !== 'cut') continue;
          const record = await read(clusterId);
          const last = record.lastOf['account-controller'];
          if (last && last.sequence > (record.lastOf.approver?.sequence ?? 0)) return record;
        }
      } finally {
        stop.abort();
      }
      throw new Error('the bus was closed');
    },
    async tryAs(credentials, shownUser) {
      const proof = jwtProof(credentials);
      try {
        const nc = await connect({
          ...connectionOptions(hub.address, 'agent'),
          authenticator: (nonce) => ({
            ...proof(nonce),
            ...(shownUser === undefined ? {} : { user: shownUser }),
          }),
          reconnect: false,
          timeout: 5000,
        });
        connections.push(nc);
        return nc;
      } catch (error) {
        return String(error);
      }
    },
    async connectSystem() {
      const key = createNkey('user');
      const nats = { type: 'user', subs: -1, data: -1, payload: -1 };
      const jwt = encodeJwt(
        { subject: key.publicKey, name: 'test', nowMs: Date.now(), nats },
        nkeyFromSeed(readOfflineKeys(hub.stateDir).accounts.sys),
      );
      return hub.connectWith({ jwt, seed: key.seed }, 'test');
    },
    async killAndRestartServer(meanwhile) {
      await hub.natsServer.kill();
      meanwhile?.();
      await hub.natsServer.restart();
      // The old connections come back by themselves, but not yet, and what is sent until then is lost.
      system = await openSystem();
      approver = await hub.openLog('approver');
    },
    async stored() {
      const claims = decodeJwt(await system.lookUp(identity.hubKeys.agents));
      return (claims?.nats['revocations'] ?? {}) as Record<string, number>;
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(connections.map((nc) => nc.close()));
      await hub[Symbol.asyncDispose]();
    },
  };
}
