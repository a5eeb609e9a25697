import { randomUUID } from 'node:crypto';
import { banned, draft } from '@rollcall/shared/events';
import { scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt, type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aDecision } from '../harness/events.ts';
import { connectWithCredentials, connectWithKey, type RawAgent } from '../harness/raw-agent.ts';
import { type AttackedRegistrar, outcomeOf, startAttackedRegistrar } from './attacked-registrar.ts';

/**
 * A hub that was restored from a backup of three days ago: credentials of members that came since are good for the server, and
 * no event knows them.
 */
const day = 86_400_000;
const backupTakenAtMs = Date.now() - 3 * day;
let attacked: AttackedRegistrar;
beforeAll(async () => {
  attacked = await startAttackedRegistrar({ backupTakenAtMs });
});
afterAll(() => attacked[Symbol.asyncDispose]());

interface Former {
  readonly clusterId: string;
  readonly key: Nkey;
  readonly jwt: string;
}
/** As the hub gave them out in the epoch before. */
function aMemberBeforeRestore(issued: { issuedAtMs?: number; lifeMs?: number; key?: Nkey } = {}): Former {
  const { key = createNkey('user'), ...when } = issued;
  const clusterId = randomUUID();
  const { jwt } = attacked.hub.agentCredentials('member', clusterId, { seed: key.seed, ...when });
  return { clusterId, key, jwt };
}
const connect = ({ key, jwt }: Former): Promise<RawAgent> =>
  connectWithCredentials(attacked.hub, key, { jwt, seed: key.seed });
const aBody = (clusterId: string, formerJwt: string) => ({
  clusterId,
  clusterName: `c-${clusterId.slice(0, 8)}`,
  formerJwt,
  facts: { kubernetesVersion: 'v1.36.3' },
});

test('a member of before the restore is told that it is not known, and may ask without a token', async () => {
  const member = aMemberBeforeRestore();
  await using agent = await connect(member);
  const { clusterId, jwt } = member;
  const renewed = await agent.request('renew', { clusterId });
  expect(outcomeOf(renewed.result)).toBe('CLUSTER_FORGOTTEN');
  const { result, events } = await attacked.eventsDuring(() => agent.request('join', aBody(clusterId, jwt)));
  expect(outcomeOf(result.result)).toBe('waiting');
  expect(events.toSorted()).toEqual(['cluster.requested', 'key.taken', 'name.taken']);
  const { identity } = await attacked.cluster(clusterId);
  expect(identity?.request).toMatchObject({
    tokenName: '',
    memberBeforeRestore: { issuedAtMs: expect.any(Number) },
  });
  expect(identity?.admittedKey).toBeUndefined();
});

test('so may one whose credentials have ended meanwhile, by showing them', async () => {
  const { clusterId, key, jwt } = aMemberBeforeRestore({ issuedAtMs: Date.now() - 2 * day, lifeMs: day });
  await using agent = await connectWithKey(attacked.hub, key, clusterId, jwt);
  const { result } = await agent.request('join', aBody(clusterId, jwt));
  expect(outcomeOf(result)).toBe('waiting');
});

describe('credentials of before the restore that open nothing', () => {
  /** The attacker is a member itself: the server lets it ask, and it chooses what it shows. */
  test.each<{ name: string; show(attacker: Former): { clusterId: string; jwt: string } }>([
    {
      name: 'those of another key',
      show() {
        const { clusterId, jwt } = aMemberBeforeRestore();
        return { clusterId, jwt };
      },
    },
    {
      name: 'its own, as another cluster',
      show: ({ jwt }) => ({ clusterId: randomUUID(), jwt }),
    },
    {
      name: 'such as it signs itself',
      show({ key }) {
        const clusterId = randomUUID();
        const account = String(decodeJwt(aMemberBeforeRestore().jwt)?.nats['issuer_account']);
        const claims = { subject: key.publicKey, name: clusterId, nats: scopedUserClaims(account) };
        const nowMs = Date.now();
        return {
          clusterId,
          jwt: encodeJwt({ ...claims, nowMs, expiresAtMs: nowMs + day }, createNkey('account')),
        };
      },
    },
    {
      name: 'such as one waits with',
      show({ key }) {
        const clusterId = randomUUID();
        return {
          clusterId,
          jwt: attacked.hub.agentCredentials('waiting', clusterId, { seed: key.seed }).jwt,
        };
      },
    },
    {
      name: 'those of before the backup',
      show: ({ key }) => aMemberBeforeRestore({ key, issuedAtMs: backupTakenAtMs - day, lifeMs: 5 * day }),
    },
    {
      name: 'those that ended too long ago',
      show: ({ key }) => aMemberBeforeRestore({ key, issuedAtMs: Date.now() - 9 * day, lifeMs: day }),
    },
  ])('$name', async ({ show }) => {
    const attacker = aMemberBeforeRestore();
    await using agent = await connect(attacker);
    const { clusterId, jwt } = show(attacker);
    const { result, events } = await attacked.eventsDuring(() =>
      agent.request('join', aBody(clusterId, jwt)),
    );
    expect([outcomeOf(result.result), events]).toEqual(['TOKEN_UNKNOWN', []]);
    expect((await attacked.cluster(clusterId)).identity).toBeUndefined();
  });

  test.each<{ name: string; show(): { former: Former; key: Nkey } }>([
    {
      name: 'ended, of another key',
      show: () => ({
        former: aMemberBeforeRestore({ issuedAtMs: Date.now() - 2 * day, lifeMs: day }),
        key: createNkey('user'),
      }),
    },
    {
      name: 'ended too long ago',
      show() {
        const former = aMemberBeforeRestore({ issuedAtMs: Date.now() - 9 * day, lifeMs: day });
        return { former, key: nkeyFromSeed(former.key.seed) };
      },
    },
  ])('a connection is refused with $name', async ({ show }) => {
    const { former, key } = show();
    const connecting = connectWithKey(attacked.hub, key, former.clusterId, former.jwt);
    await expect(connecting).rejects.toThrow(/authorization violation/i);
    expect(await attacked.refusalOf(key.publicKey)).toBe('UnknownKey');
  });

  test('those of a cluster that Kubernetes showed as banned', async () => {
    const member = aMemberBeforeRestore();
    const { clusterId, jwt } = member;
    const section = aDecision({ verdict: 'banned', clusterName: 'banned', reason: 'RestoredFromProjection' });
    const record = await attacked.cluster(clusterId);
    const what = { reason: 'RestoredFromProjection', message: 'as the approver says it', section };
    await attacked.approverLog.append([draft(banned, record, what)], { correlation: 'test' });
    await using agent = await connect(member);
    const { result, events } = await attacked.eventsDuring(() =>
      agent.request('join', aBody(clusterId, jwt)),
    );
    expect([outcomeOf(result.result), events]).toEqual(['TOKEN_UNKNOWN', []]);
  });

  test('those of a member of a hub that was never restored and does not know it', async () => {
    await using never = await startAttackedRegistrar();
    const key = createNkey('user');
    const clusterId = randomUUID();
    const { jwt } = never.hub.agentCredentials('member', clusterId, { seed: key.seed });
    await using agent = await connectWithCredentials(never.hub, key, { jwt, seed: key.seed });
    const { result, events } = await never.eventsDuring(() => agent.request('join', aBody(clusterId, jwt)));
    expect([outcomeOf(result.result), events]).toEqual(['TOKEN_UNKNOWN', []]);
  });
});
