import { RollcallError } from '@rollcall/shared/errors';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { createLogLines } from '@rollcall/agent';
import { expect, test } from 'vitest';
import type { DesiredHosting } from './desired-hosting.ts';
import { keysSecret, startHostedAgent, tokenSecret, uninstallOnHub } from './hosted-agent.ts';
import { failureWords } from './failure-words.ts';
import { hostMember, type HostedMemberParts } from './host-member.ts';
import type { HostingOutcome } from './hosting-event.ts';

const hosting: DesiredHosting = {
  clusterId: 'edge',
  clusterName: 'edge',
  clientId: 'edge',
  clusterType: 'Standard',
  mode: 'Push',
  secret: 'edge-kubeconfig',
  sinceMs: 1,
  hasRequested: false,
  hasLeft: false,
};
const base64 = (text: string) => Buffer.from(text).toString('base64');
const claims = { sub: 'system:serviceaccount:rollcall-agent:rollcall-agent', iat: 1, exp: 2 };
const access: KubeAccess = {
  // Nobody listens there.
  server: 'https://127.0.0.1:1',
  token: `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`,
  namespace: 'default',
  clusterName: 'member',
  contextName: 'member',
  userName: 'member',
};
const away = new RollcallError('KUBE_UNREACHABLE', 'the API server of the hub is away');

interface Place {
  readonly namespace: string;
  readonly name: string;
}

function partsOf(parts: {
  get(place: Place): Promise<unknown>;
  delete?(name: string): Promise<boolean>;
  accessOf?: HostedMemberParts['accessOf'];
  tell?(outcome: HostingOutcome): void;
}): HostedMemberParts {
  const { get, tell = () => undefined, accessOf = async () => access } = parts;
  const remove = (_resource: unknown, name: string) => parts.delete?.(name);
  return {
    client: { get: (_resource: unknown, place: Place) => get(place), delete: remove } as never,
    hub: ['127.0.0.1:1'],
    hubCaPem: '',
    agentImage: 'agent',
    render: () => '',
    logger: createLogLines('error', () => undefined),
    accessOf,
    tell: async (_hosting, outcome) => tell(outcome),
  };
}

test('no member is blamed where the hub does not give the token that is kept for it', async () => {
  const told = Promise.withResolvers<HostingOutcome>();
  const get = async ({ namespace, name }: Place) => {
    if (namespace === namespaces.agents && name === tokenSecret('edge')) throw away;
    return { metadata: { name }, data: { value: base64('kubeconfig'), token: base64('token') } };
  };
  const member = hostMember(hosting, partsOf({ get, tell: told.resolve }));
  expect(await told.promise).toMatchObject({ state: 'failed', reason: 'HostTrouble' });
  await member.stop();
});

test('the account in a member is not forgotten where the hub does not answer once as it is about to go', async () => {
  const used = Promise.withResolvers<string>();
  const deleted: string[] = [];
  let asked = 0;
  const member = hostMember(
    { ...hosting, hasLeft: true },
    partsOf({
      async get({ name }) {
        if (name !== keysSecret('edge')) return undefined;
        if (asked++ === 0) throw away;
        return { metadata: { name }, data: { kubeconfig: base64('the way to the account') } };
      },
      async accessOf(kubeconfig) {
        used.resolve(kubeconfig);
        return access;
      },
      async delete(name) {
        deleted.push(name);
        used.resolve('nothing');
        return true;
      },
    }),
  );
  expect(await used.promise).toBe('the way to the account');
  expect(deleted).toEqual([]);
  await member.stop();
});

test('no member is blamed where the hub does not let the keys of its agent be removed', async () => {
  const { client } = partsOf({ get: () => Promise.reject(away), delete: () => Promise.reject(away) });
  const removed = await uninstallOnHub({ client }, hosting).afterGoodbye().catch(failureWords);
  expect(removed).toMatchObject({ reason: 'HostTrouble' });
});

test('what was kept for a cluster goes with it, also where its mode is another by now', async () => {
  const deleted: string[] = [];
  const member = hostMember(
    { ...hosting, mode: 'Pull', hasLeft: true },
    partsOf({
      get: async () => undefined,
      async delete(name) {
        deleted.push(name);
        return true;
      },
    }),
  );
  await member.end();
  expect(deleted).toEqual([tokenSecret('edge'), keysSecret('edge')]);
});

test('who has put a torn token into the Secret is not told that there is none', async () => {
  const secret = { kubeconfig: '', token: 'torn', hub: undefined, caPem: undefined, isMadeByJoin: false };
  const host = partsOf({ get: async () => undefined });
  const words = await startHostedAgent(host, { hosting, secret, access }).catch(failureWords);
  expect(words).toMatchObject({ reason: 'TokenMissing', message: expect.stringContaining('no whole token') });
});
