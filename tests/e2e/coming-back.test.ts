import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { clusterRecord, type MemberKey } from '@rollcall/shared/events';
import { applyManifests, type KubeAccess, resources } from '@rollcall/shared/kubernetes';
import type { MemberClaim } from '@rollcall/shared/protocol';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentAccountManifests } from '../../cli/up/hub-manifests.ts';
import {
  conditionOf,
  startTestEmbeddedHub,
  type TestAgent,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import { type AskedHub, connectWithToken } from '../harness/raw-agent.ts';

const name = 'comes-back';
const subject = 'system:serviceaccount:rollcall-agent:rollcall-agent';

let hub: TestEmbeddedHub;
let asked: AskedHub;
/** The member as the agent's own ServiceAccount sees it, by the rights of its manifest and no others. */
let member: KubeAccess;
let clusterId: string;
let first: TestAgent;

beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  asked = { address: hub.up.natsAddress, hub: hub.up.hub };
  await applyManifests(hub.up.admin, agentAccountManifests());
  member = hub.up.plane.userAccess(subject, [
    'system:serviceaccounts',
    'system:serviceaccounts:rollcall-agent',
  ]);
  clusterId = (await hub.up.admin.get(resources.namespaces, { name: 'kube-system' }))?.metadata.uid ?? '';
  first = await hub.startAgent({ name, token: (await hub.createToken()).text, member });
  await hub.untilReady(name);
});
afterAll(() => hub[Symbol.asyncDispose]());

const record = async () => clusterRecord(await hub.log.read({ kind: 'cluster', id: clusterId }));

/** The agent was reinstalled: nothing of the former one is left but the cluster itself. */
const reinstall = async () => hub.startAgent({ name, token: (await hub.createToken()).text, member });

async function untilHeld(isIt: (key: string) => boolean) {
  return until('the request is held', async () => {
    const found = await record();
    const { decision, identity } = found;
    const isAbout = decision?.requestId === identity?.request.id && isIt(decision?.key ?? '');
    return isAbout && decision?.verdict === 'held' && found;
  });
}

async function person(verdict: 'Approve' | 'Deny', key: string): Promise<void> {
  await until('the request object shows the key', async () => {
    const found = await hub.request(clusterId);
    return found?.spec.keyFingerprint === keyFingerprint(key) && found.status?.result === 'Held';
  });
  await hub.up.admin.mergePatch(resources.clusterRegistrationRequests, clusterId, {
    spec: { decision: { verdict, keyFingerprint: keyFingerprint(key) } },
  });
}

test('with the first approval the issuer of the member is pinned, and its token is nowhere', async () => {
  const { identity } = await record();
  expect(identity?.member).toMatchObject({ subject, keys: [{ kty: 'EC' }] });
  expect(identity?.member?.issuer).toMatch(/^https:/);
  for await (const event of hub.log.scan({ filter: 'cluster.*.>' })) {
    expect(JSON.stringify(event.section)).not.toMatch(/eyJ[\w-]{20,}\.eyJ/);
  }
});

test('no rule speaks about it: a reinstalled agent is held, with what it proved, and the owner goes on', async () => {
  const owner = (await record()).identity?.admittedKey ?? '';
  const { agent } = await reinstall();
  const { decision, identity } = await untilHeld((key) => key !== owner);
  expect(decision).toMatchObject({ reason: 'KeyChanged', approvedKey: owner });
  expect(identity?.request.member).toMatchObject({ sameMember: true });
  expect(decision?.message).toContain('it proved that it is of the same member');
  expect(conditionOf(await hub.cluster(name), 'Ready')?.status).toBe('True');
  await agent.stop();
  await person('Deny', decision?.key ?? '');
  await until('it is denied', async () => (await record()).decision?.verdict === 'denied');
});

test('a rule speaks about it: the reinstalled agent is back without a person, and the old key is out [X-7]', async () => {
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'reinstalled' },
    spec: {
      rules: [{ name: 'same-member', when: 'verified.sameMember && token.valid', effect: 'Approve' }],
    },
  } as never);
  await until('the policy is declared', async () => {
    const policy = await hub.log.read({ kind: 'policy', id: 'reinstalled' });
    return policy.newest?.type === 'declared';
  });
  const owner = (await record()).identity?.admittedKey ?? '';
  // Who asked by its id before, and waits for a person, is not in its way.
  const token = await hub.createToken();
  await using stranger = await connectWithToken(asked, token);
  const body = aJoin(token, { clusterId, clusterName: name });
  expect((await askToJoin(stranger, token, body)).kind).toBe('waiting');
  await untilHeld((key) => key === stranger.key.publicKey);
  const { agent } = await reinstall();
  await agent.admitted();
  const { decision, identity } = await record();
  expect(decision).toMatchObject({ verdict: 'approved', by: { policy: 'reinstalled', rule: 'same-member' } });
  expect(decision?.revokedKeys.map(({ key }) => key)).toContain(owner);
  expect(identity?.admittedKey).not.toBe(owner);
  expect(identity?.member).toMatchObject({ subject });
  await until('the former agent hears that it is out', async () =>
    first.phases.some(({ phase }) => phase === 'refused'),
  );
  await first.agent.stop();
  await hub.untilReady(name);
});

const thief = generateKeyPairSync('rsa', { modulusLength: 2048 });
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

interface Forger {
  readonly audience: string;
  readonly issuer: string;
  /** As anybody can read them in the member. */
  readonly memberKeys: MemberClaim['keys'];
  /** By the member's own API server, for whoever may. */
  realToken(of: { account: string; namespace: string; audience: string }): Promise<string>;
}

function forge(
  { audience, issuer, memberKeys }: Forger,
  how: { alg: string; signature(text: string): string; kid?: string; lateS?: number },
): string {
  const nowS = Math.floor(Date.now() / 1000) - (how.lateS ?? 0);
  const head = { alg: how.alg, kid: how.kid ?? memberKeys[0]?.kid };
  const claims = { iss: issuer, sub: subject, aud: [audience], iat: nowS, nbf: nowS, exp: nowS + 600 };
  const text = `${encode(head)}.${encode(claims)}`;
  return `${text}.${how.signature(text)}`;
}
const byThief = (text: string) => sign('sha256', Buffer.from(text), thief.privateKey).toString('base64url');

test.each<{ what: string; problem: RegExp; claim(forger: Forger): Promise<MemberClaim> | MemberClaim }>([
  {
    what: 'a real token of the agent, made for the API server',
    problem: /another hub or another key/,
    claim: async ({ realToken, issuer, memberKeys: keys }) => ({
      token: await realToken({ account: 'rollcall-agent', namespace: 'rollcall-agent', audience: issuer }),
      keys,
    }),
  },
  {
    what: "the real proof of another key: the owner's, captured",
    problem: /another hub or another key/,
    claim: async ({ realToken, memberKeys: keys }) => {
      const owner = (await record()).identity?.admittedKey ?? '';
      const audience = `rollcall:${hub.up.hub.hubId}:${owner}`;
      return {
        token: await realToken({ account: 'rollcall-agent', namespace: 'rollcall-agent', audience }),
        keys,
      };
    },
  },
  {
    what: 'a real token of another ServiceAccount of the member',
    problem: /another ServiceAccount/,
    async claim({ realToken, audience, memberKeys: keys }) {
      const metadata = { name: 'rollcall-agent', namespace: 'default' };
      await hub.up.admin.create(resources.serviceAccounts, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata,
      });
      return { token: await realToken({ account: metadata.name, namespace: 'default', audience }), keys };
    },
  },
  {
    what: "an issuer of the thief's own, which it brings along",
    problem: /none of the keys/,
    claim: (forger) => ({
      token: forge(forger, { alg: 'RS256', signature: byThief }),
      keys: [
        { ...(thief.publicKey.export({ format: 'jwk' }) as MemberKey), kid: forger.memberKeys[0]?.kid ?? '' },
      ],
    }),
  },
  {
    what: 'alg none',
    problem: /none of the keys/,
    claim: (forger) => ({
      token: forge(forger, { alg: 'none', signature: () => '' }),
      keys: forger.memberKeys,
    }),
  },
  {
    what: 'HS256 with the public key as the secret',
    problem: /none of the keys/,
    claim: (forger) => ({
      token: forge(forger, {
        alg: 'HS256',
        signature: (text) =>
          createHmac('sha256', JSON.stringify(forger.memberKeys[0])).update(text).digest('base64url'),
      }),
      keys: forger.memberKeys,
    }),
  },
])('a forged proof lets nobody in: $what', async ({ claim, problem }) => {
  const token = await hub.createToken();
  await using agent = await connectWithToken(asked, token);
  const owner = (await record()).identity?.admittedKey;
  const jwks = await hub.up.admin.raw('/openid/v1/jwks', { accept: 'application/jwk-set+json' });
  const { keys } = JSON.parse(jwks.body) as { keys: (MemberKey & { use: string; alg: string })[] };
  const body = {
    clusterId,
    clusterName: name,
    tokenKey: token.key.publicKey,
    facts: { kubernetesVersion: 'v1.36.3' },
    member: await claim({
      audience: `rollcall:${hub.up.hub.hubId}:${agent.key.publicKey}`,
      issuer: (await record()).identity?.member?.issuer ?? '',
      memberKeys: keys.map(({ use: _use, alg: _alg, ...key }) => key),
      async realToken({ account, namespace, audience }) {
        const where = { name: account, namespace, subresource: 'token' };
        const made = await hub.up.admin.createSubresource<{ status: { token: string } }>(
          resources.serviceAccounts,
          where,
          {
            apiVersion: 'authentication.k8s.io/v1',
            kind: 'TokenRequest',
            spec: { audiences: [audience], expirationSeconds: 600 },
          },
        );
        return made.status.token;
      },
    }),
  };
  const answer = await agent.request('join', body, { signers: [agent.key, token.key] });
  expect(answer.result.kind).toBe('waiting');
  const { decision, identity } = await untilHeld((key) => key === agent.key.publicKey);
  expect(decision).toMatchObject({ reason: 'KeyChanged', approvedKey: owner });
  expect(identity?.request.member).toMatchObject({
    sameMember: false,
    problem: expect.stringMatching(problem),
  });
  expect(identity?.member?.keys.map(({ kid }) => kid)).toEqual(keys.map(({ kid }) => kid));
  await person('Deny', agent.key.publicKey);
  await until('it is denied', async () => (await record()).decision?.verdict === 'denied');
});
