import { randomUUID } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { connectionOptions, jwtProof } from '@rollcall/shared/bus';
import { clusterRecord, type Decision, tokenRecord } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { createNkey, type RegistrationToken, signMessage, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import {
  type AskedHub,
  connectWithCredentials,
  connectWithKey,
  connectWithToken,
  freshId,
  type RawAgent,
} from '../harness/raw-agent.ts';

let hub: TestEmbeddedHub;
let asked: AskedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  asked = { address: hub.up.natsAddress, hub: hub.up.hub };
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'held' },
    spec: { rules: [{ name: 'held', when: 'request.clusterName.startsWith("held")', effect: 'Hold' }] },
  } as never);
  await until('the policy counts', async () => {
    const { head } = await hub.log.read({ kind: 'policy', id: 'held' });
    return head;
  });
});
afterAll(() => hub[Symbol.asyncDispose]());

const record = async (id: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id }));

/** Whoever comes in between has its own token, as every other cluster has. */
async function somebodyElseJoins(): Promise<string> {
  const token = await hub.createToken();
  await using agent = await connectWithToken(asked, token);
  return (await askToJoin(agent, token, aJoin(token))).kind;
}

/** As fast as the connection takes it, until it is ended. */
async function floodUntilCut(agent: RawAgent, text: string): Promise<void> {
  const subject = `rollcall.request.${agent.key.publicKey}.join`;
  while (!agent.nc.isClosed()) {
    for (let at = 0; at < 100; at++) agent.nc.publish(subject, text);
    // A connection that is kicked meanwhile answers no more.
    await Promise.race([agent.nc.flush().catch(() => undefined), agent.nc.closed()]);
  }
}

const garbage = `{"signed":"${'x'.repeat(200)}","signatures":[[[`;

/** As `connectWithToken`, from another address of this machine. */
async function connectFrom(localAddress: string, token: RegistrationToken): Promise<string> {
  const key = createNkey('user');
  const options = connectionOptions(asked.address, 'agent');
  // nats.js hands all of it to node:tls, and its type lists less.
  const fromThere = { ...options.tls, localAddress };
  try {
    const nc = await connect({
      ...options,
      tls: fromThere,
      reconnect: false,
      authenticator: (nonce = '') => ({
        nkey: token.key.publicKey,
        sig: token.key.sign(nonce),
        user: key.publicKey,
        pass: key.sign(nonce),
      }),
    });
    await nc.close();
    return 'let in';
  } catch (error) {
    return String(error);
  }
}

test('garbage: the flooder is cut, its token is kept out at its address only, and everybody else joins', async () => {
  const token = await hub.createToken({ uses: 'unlimited' });
  await using flooder = await connectWithToken(asked, token);
  await floodUntilCut(flooder, garbage);
  // Whatever key it takes: what let it in lets in no more from there.
  await expect(connectWithToken(asked, token)).rejects.toThrow('Authorization Violation');
  expect(await connectFrom('127.0.0.2', token)).toBe('let in');
  expect(await somebodyElseJoins()).toBe('waiting');
  const { uses } = tokenRecord(await hub.log.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) }));
  expect(uses).toBeUndefined();
});

test('ever new keys with a token that is used up: it is refused before anything is verified, others join', async () => {
  const token = await hub.createToken();
  await using owner = await connectWithToken(asked, token);
  expect((await askToJoin(owner, token, aJoin(token))).kind).toBe('waiting');
  const asks = async () => {
    await using agent = await connectWithToken(asked, token);
    const answers = Array.from({ length: 8 }, () => {
      const content = { v: 1, hub: asked.hub.hubId, verb: 'join', id: freshId(), atMs: Date.now() };
      const ask = signMessage({ ...content, body: aJoin(token) }, [agent.key, token.key]);
      agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, JSON.stringify(ask));
    });
    await Promise.race([agent.nc.flush().catch(() => undefined), agent.nc.closed()]);
    return answers.length;
  };
  const tryOften = async () => {
    // The registrar takes what it is sent a moment later; long before this count the token is kept out.
    for (let sent = 0; sent < 5000;) sent += (await Promise.all([asks(), asks(), asks(), asks()])).length * 8;
  };
  await expect(tryOften()).rejects.toThrow('Authorization Violation');
  expect(await somebodyElseJoins()).toBe('waiting');
  const { uses } = tokenRecord(await hub.log.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) }));
  expect(uses?.used).toBe(1);
});

test('its own key lets a flooder in no more either, whatever it says beside it', async () => {
  const token = await hub.createToken();
  await using asking = await connectWithToken(asked, token);
  const { key } = asking;
  const body = aJoin(token);
  expect((await askToJoin(asking, token, body)).kind).toBe('waiting');
  await using flooder = await connectWithKey(asked, key, body.clusterId);
  await floodUntilCut(flooder, garbage);
  await expect(connectWithKey(asked, key, body.clusterId)).rejects.toThrow('Authorization Violation');
  const withEmptyUser = connect({
    ...connectionOptions(asked.address, 'agent'),
    name: body.clusterId,
    reconnect: false,
    authenticator: (nonce = '') => ({ nkey: key.publicKey, sig: key.sign(nonce), user: '', pass: '' }),
  });
  await expect(withEmptyUser).rejects.toThrow('Authorization Violation');
});

describe('an agent with credentials of its own', () => {
  /** A policy holds those whose name begins so; all others are let in. */
  async function anAgent(role: 'waiting' | 'member') {
    const token = await hub.createToken();
    await using asking = await connectWithToken(asked, token);
    const clusterName = `${role === 'waiting' ? 'held' : 'in'}-${randomUUID().slice(0, 8)}`;
    const body = aJoin(token, { clusterName });
    const result = await askToJoin(asking, token, body);
    const answer = role === 'member' ? (await asking.nextNews()).result : result;
    const isIt = answer.kind === 'waiting' || answer.kind === 'admitted';
    if (!isIt || answer.credentials === undefined) throw new Error(answer.kind);
    return {
      clusterId: body.clusterId,
      key: asking.key,
      credentials: { jwt: answer.credentials, seed: asking.key.seed },
    };
  }
  const isOut = ({ revokedKeys }: Pick<Decision, 'revokedKeys'>, key: string) =>
    revokedKeys.some((taken) => taken.key === key);

  test.each(['waiting', 'member'] as const)(
    '%s: cut, and its credentials let it in no more; the trace says why',
    async (role) => {
      const { clusterId, key, credentials } = await anAgent(role);
      await using flooder = await connectWithCredentials(asked, key, credentials);
      await floodUntilCut(flooder, garbage);
      // Until it is put out it may come back, and goes on.
      const out = await until('its key is out', async () => {
        const again = await connectWithCredentials(asked, key, credentials).catch(() => undefined);
        if (again) await floodUntilCut(again, garbage);
        const { decision, lastOf } = await record(clusterId);
        return decision && isOut(decision, key.publicKey) && lastOf['account-controller'] && decision;
      });
      expect(out.reason).toBe('Flooding');
      expect(out.verdict).toBe(role === 'member' ? 'revoked' : 'denied');
      const proof = jwtProof(credentials);
      const refused = connect({
        ...connectionOptions(asked.address, 'agent'),
        authenticator: proof,
        reconnect: false,
      });
      await expect(refused).rejects.toThrow('Authorization Violation');
      const types: string[] = [];
      for await (const event of hub.log.scan({ filter: `cluster.${clusterId}.*` })) types.push(event.type);
      expect(types.filter((type) => type === 'flooded')).toHaveLength(1);
      expect(await somebodyElseJoins()).toBe('waiting');
    },
  );
});
