import type { NatsConnection } from '@nats-io/transport-node';
import { clusterRecord } from '@rollcall/shared/events';
import { createKubeClient, resources } from '@rollcall/shared/kubernetes';
import { type AccessBox, decodeMintReply, mintSubject } from '@rollcall/shared/protocol';
import { createNkey, createXkey, type Nkey, signMessage } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshId } from '../../../tests/harness/raw-agent.ts';
import { type ProvisionerWorld, startWorld } from './provisioner-world.ts';

let world: ProvisionerWorld;
let provisioner: AsyncDisposable;
/** What a stolen registrar holds: its connection. */
let registrar: NatsConnection;
beforeAll(async () => {
  world = await startWorld();
  provisioner = await world.startProvisioner();
  registrar = await world.hub.connectAs('registrar');
});
afterAll(async () => {
  await provisioner[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

interface TestAgent {
  readonly key: Nkey;
  readonly sealing: ReturnType<typeof createXkey>;
  readonly clusterId: string;
}

const anAgent = (clusterId: string): TestAgent => ({
  key: createNkey('user'),
  sealing: createXkey(),
  clusterId,
});

/** An agent that is in, with access unless told otherwise. */
async function aMember(clusterId: string, access: 'None' | 'Namespace' = 'Namespace'): Promise<TestAgent> {
  const agent = anAgent(clusterId);
  await world.say('approved', clusterId, { approvedKey: agent.key.publicKey, access });
  await world.told(clusterId, 'provisioned');
  return agent;
}

interface AskOptions {
  readonly clusterId?: string;
  readonly hub?: string;
  readonly id?: string;
  readonly atMs?: number;
  readonly verb?: string;
  readonly body?: object;
}

function requestOf(agent: TestAgent, options: AskOptions = {}): string {
  const { clusterId = agent.clusterId, verb = 'access' } = options;
  const content = {
    v: 1,
    hub: options.hub ?? world.hub.hub.hubId,
    verb,
    id: options.id ?? freshId(),
    atMs: options.atMs ?? Date.now(),
    body: options.body ?? { clusterId, sealTo: agent.sealing.publicKey },
  };
  return JSON.stringify(signMessage(content, [agent.key]));
}

async function mint(request: string) {
  const message = await registrar.request(mintSubject, request, { timeout: 20_000 });
  return decodeMintReply(message.string());
}

function opened(agent: TestAgent, reply: Awaited<ReturnType<typeof mint>>): AccessBox {
  if (reply?.kind !== 'sealed') throw new Error(`not sealed: ${JSON.stringify(reply)}`);
  const plain = agent.sealing.open(Buffer.from(reply.box, 'base64'), reply.by);
  return JSON.parse(new TextDecoder().decode(plain)) as AccessBox;
}

async function statusWith(box: AccessBox, path: string): Promise<number> {
  const access = {
    server: box.server,
    caPem: box.caPem,
    token: box.token,
    namespace: box.namespace,
    clusterName: 'hub',
    contextName: 'hub',
    userName: 'member',
  };
  const client = createKubeClient(access, { fieldManager: 'test', userAgent: 'test' });
  return (await client.raw(path)).status;
}

const recordOf = async (id: string) =>
  clusterRecord(await (await world.hub.openLog('projector')).read({ kind: 'cluster', id }));

test('the agent that was given access has a token of its ServiceAccount, an hour long, that it alone can open', async () => {
  const agent = await aMember('alpha');
  const id = freshId();
  const reply = await mint(requestOf(agent, { id }));
  const box = opened(agent, reply);
  expect(box).toMatchObject({ requestId: id, clusterId: 'alpha', namespace: 'alpha' });
  const [, payload = ''] = box.token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as {
    readonly sub: string;
    readonly exp: number;
    readonly iat: number;
  };
  expect(claims.sub).toBe('system:serviceaccount:alpha:rollcall-member');
  expect(claims.exp - claims.iat).toBe(3600);
  expect(claims.exp * 1000).toBe(box.expiresAtMs);
  expect(await statusWith(box, '/api/v1/namespaces/alpha/configmaps')).toBe(200);
  expect(await statusWith(box, '/api/v1/namespaces/kube-system/configmaps')).toBe(403);
  if (reply?.kind !== 'sealed') return;
  expect(createXkey().open(Buffer.from(reply.box, 'base64'), reply.by)).toBeUndefined();
  expect(Buffer.from(reply.box, 'base64').toString('latin1')).not.toContain(box.token.slice(0, 20));
});

test('the first token is an event, further ones are not; each is another', async () => {
  const agent = await aMember('beta');
  const first = opened(agent, await mint(requestOf(agent)));
  const second = opened(agent, await mint(requestOf(agent)));
  expect(second.token).not.toBe(first.token);
  expect(await world.count('beta', 'access-given')).toBe(1);
  const { access } = await recordOf('beta');
  expect(access).toMatchObject({ state: 'provisioned', tokens: { key: agent.key.publicKey } });
  expect(JSON.stringify(access)).not.toContain(first.token);
});

test.each([
  { what: 'a cluster that nobody approved', request: async () => requestOf(anAgent('nobody')), want: 'none' },
  {
    what: 'a cluster without access',
    request: async () => requestOf(await aMember('plain', 'None')),
    want: 'none',
  },
  {
    what: 'another key than the one that is in',
    request: async () => {
      await aMember('owned');
      return requestOf(anAgent('owned'));
    },
    want: 'none',
  },
  {
    what: 'a member that names another cluster',
    request: async () => {
      await aMember('victim');
      return requestOf(await aMember('thief'), { clusterId: 'victim' });
    },
    want: 'none',
  },
  {
    what: 'a request for another hub',
    request: async () => requestOf(await aMember('elsewhere'), { hub: 'ANOTHERHUB' }),
    want: 'HUB_WRONG',
  },
  {
    what: 'a request of an hour ago',
    request: async () => requestOf(await aMember('late'), { atMs: Date.now() - 3_600_000 }),
    want: 'CLOCK_SKEW',
  },
  {
    what: 'a request that a person with the bus made up',
    request: async () => {
      const agent = await aMember('forged');
      const real = JSON.parse(requestOf(agent)) as { signed: string };
      return JSON.stringify({ ...real, signatures: { [agent.key.publicKey]: 'A'.repeat(86) } });
    },
    want: 'PROOF_INVALID',
  },
  {
    what: 'a request whose sealing key was swapped',
    request: async () => {
      const agent = await aMember('swapped');
      const real = JSON.parse(requestOf(agent)) as { signed: string; signatures: object };
      const signed = real.signed.replace(agent.sealing.publicKey, createXkey().publicKey);
      return JSON.stringify({ ...real, signed });
    },
    want: 'PROOF_INVALID',
  },
  {
    what: 'a request with two signatures',
    request: async () => {
      const agent = await aMember('two');
      const { signed, signatures } = JSON.parse(requestOf(agent)) as { signed: string; signatures: object };
      const other = createNkey('user');
      return JSON.stringify({ signed, signatures: { ...signatures, [other.publicKey]: other.sign(signed) } });
    },
    want: 'REQUEST_INVALID',
  },
  {
    what: 'another request of that agent, such as a renewal',
    request: async () =>
      requestOf(await aMember('renewing'), { verb: 'renew', body: { clusterId: 'renewing' } }),
    want: 'REQUEST_INVALID',
  },
  {
    what: 'a key to seal to that is none',
    request: async () => {
      const agent = await aMember('keyless');
      return requestOf(agent, { body: { clusterId: 'keyless', sealTo: `X${'A'.repeat(55)}` } });
    },
    want: 'REQUEST_INVALID',
  },
  { what: 'garbage', request: async () => '{"signed":1}', want: 'REQUEST_INVALID' },
])('a stolen registrar has nothing made for $what', async ({ request, want }) => {
  const reply = await mint(await request());
  expect(reply?.kind === 'refused' ? reply.code : reply?.kind).toBe(want);
});

test('a stolen registrar cannot open what it passes on, and the same request a second time gives nothing', async () => {
  const agent = await aMember('replayed');
  const request = requestOf(agent);
  expect((await mint(request))?.kind).toBe('sealed');
  expect(await mint(request)).toMatchObject({ kind: 'refused', code: 'REPLAYED' });
});

test('withdrawn: the token dies with its ServiceAccount, no right stays, and the namespace does', async () => {
  const agent = await aMember('gamma');
  const box = opened(agent, await mint(requestOf(agent)));
  await world.say('approved', 'gamma', { approvedKey: agent.key.publicKey, access: 'None' });
  const { access, lastOf } = await world.told('gamma', 'provisioned');
  expect([access?.tokens, lastOf['rbac-provisioner']?.reason]).toEqual([undefined, 'AccessWithdrawn']);
  const account = { name: 'rollcall-member', namespace: 'gamma' };
  for (const resource of [resources.serviceAccounts, resources.roleBindings])
    expect(await world.plane.admin.get(resource, account)).toBeUndefined();
  // The API server takes what it has just seen for a few seconds more; this one it has never seen.
  expect(await statusWith(box, '/api')).toBe(401);
  expect(await mint(requestOf(agent))).toEqual({ kind: 'none' });
});

test.each([
  { name: 'withdrawn', word: 'approved', more: { access: 'None' }, told: 'provisioned' },
  { name: 'left', word: 'leaving', more: { namespacePolicy: 'Keep' }, told: 'deprovisioned' },
] as const)(
  '$name: who takes our labels off its account keeps no right',
  async ({ name, word, more, told }) => {
    const agent = await aMember(name);
    const box = opened(agent, await mint(requestOf(agent)));
    const account = { name: 'rollcall-member', namespace: name };
    for (const [resource, clusterId] of [
      [resources.serviceAccounts, null],
      [resources.roleBindings, 'another'],
    ] as const) {
      const patch = { metadata: { labels: { 'rollcall.dev/cluster-id': clusterId } } };
      await world.plane.admin.mergePatch(resource, account.name, patch, account);
    }
    await world.say(word, name, { approvedKey: agent.key.publicKey, ...more });
    await world.told(name, told);
    for (const resource of [resources.serviceAccounts, resources.roleBindings])
      expect(await world.plane.admin.get(resource, account)).toBeUndefined();
    expect(await statusWith(box, '/api')).toBe(401);
  },
);

test('another key is let in: what the former one was given ends', async () => {
  const former = await aMember('delta');
  const box = opened(former, await mint(requestOf(former)));
  const next = anAgent('delta');
  await world.say('approved', 'delta', {
    approvedKey: next.key.publicKey,
    access: 'Namespace',
    requestId: 'R2',
  });
  await world.told('delta', 'provisioned');
  expect(await statusWith(box, '/api')).toBe(401);
  expect(await mint(requestOf(former))).toEqual({ kind: 'none' });
  const given = opened(next, await mint(requestOf(next)));
  expect(await statusWith(given, '/api/v1/namespaces/delta/configmaps')).toBe(200);
});

test.each(['revoked', 'denied', 'leaving'] as const)('%s ends the token', async (word) => {
  const agent = await aMember(`ends-${word}`);
  const box = opened(agent, await mint(requestOf(agent)));
  await world.say(word, `ends-${word}`);
  await world.told(`ends-${word}`, 'deprovisioned');
  expect(await statusWith(box, '/api')).toBe(401);
  expect(await mint(requestOf(agent))).toEqual({ kind: 'none' });
});

test('withdrawn while it is made: whatever comes out is no token that works', async () => {
  const agent = await aMember('racing');
  opened(agent, await mint(requestOf(agent)));
  const asks = Array.from({ length: 20 }, () => mint(requestOf(agent)));
  const withdrawn = world.say('approved', 'racing', { approvedKey: agent.key.publicKey, access: 'None' });
  const replies = await Promise.all(asks);
  await withdrawn;
  await world.told('racing', 'provisioned');
  const boxes = replies.flatMap((reply) => (reply?.kind === 'sealed' ? [opened(agent, reply)] : []));
  const statuses = await Promise.all(boxes.map((box) => statusWith(box, '/api')));
  expect(statuses.filter((status) => status !== 401)).toEqual([]);
  expect(await mint(requestOf(agent))).toEqual({ kind: 'none' });
});
