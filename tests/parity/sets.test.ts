import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { clusterRecord } from '@rollcall/shared/events';
import { createResourceCache, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy, ClusterRegistrationToken, ManagedClusterSet } from '@rollcall/shared/resources';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** Sets on a whole hub: who is in them, who gets in, and what is said of those that are not there or cannot go. */
let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const aName = (stem: string) => `${stem}-${randomUUID().slice(0, 8)}`;
const rollcall = (...args: string[]) => runCli([...args, ...kubeconfig()]);
const kubeconfig = () => ['--kubeconfig', hub.up.plane.adminKubeconfigPath];
const setOf = (name: string) => hub.up.admin.get<ManagedClusterSet>(resources.managedClusterSets, { name });
const emptyOf = (set: ManagedClusterSet) => set.status?.conditions?.find(({ type }) => type === 'Empty');

async function makeSet(name: string, selector: object = { type: 'ExclusiveLabel' }): Promise<void> {
  await hub.up.admin.create(resources.managedClusterSets, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedClusterSet',
    metadata: { name },
    spec: { selector },
  } as never);
}

const untilCounted = (name: string, isSo: (clusters: number) => boolean) =>
  until(`set ${name} is counted`, async () => {
    const set = await setOf(name);
    return isSo(set?.status?.clusters ?? -1) && set;
  });

async function join(name: string, token: Record<string, unknown> = {}): Promise<void> {
  await hub.startAgent({ name, token: (await hub.createToken(token)).text });
  await hub.untilReady(name);
}

const moveTo = (name: string, set: string | null) =>
  hub.up.admin.mergePatch(resources.managedClusters, name, {
    metadata: { labels: { 'rollcall.dev/cluster-set': set } },
  });

const decisionOf = async (name: string) => {
  const { decision, newest } = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  return { decision, newest };
};

test('default has whoever is in no other set, global has all, both counted in columns and a condition [OC-6]', async () => {
  const [name, emea] = [aName('one'), aName('emea')];
  await makeSet(emea);
  expect(emptyOf(await untilCounted(emea, (count) => count === 0))?.status).toBe('True');
  await join(name);
  await untilCounted('default', (count) => count === 1);
  await untilCounted('global', (count) => count === 1);
  await moveTo(name, emea);
  await untilCounted(emea, (count) => count === 1);
  expect(emptyOf(await untilCounted('default', (count) => count === 0))?.status).toBe('True');
  expect((await setOf('global'))?.status?.clusters).toBe(1);
  const { stdout } = await rollcall('get', 'sets');
  expect(stdout).toMatch(/^NAME +CLUSTERS +EMPTY +AGE\n/);
  expect(stdout).toMatch(new RegExp(`\n${emea} +1 +False `));
});

test('a set by labels shows whom it selects, whatever their set is [OC-6]', async () => {
  const [name, prod] = [aName('two'), aName('prod')];
  await makeSet(prod, { type: 'LabelSelector', labelSelector: { matchLabels: { stage: prod } } });
  await join(name, { labels: { stage: prod } });
  await untilCounted(prod, (count) => count === 1);
  expect((await decisionOf(name)).decision).not.toHaveProperty('clusterSet');
});

test('a token puts a cluster into its set, a person moves it, and the events say so [OC-6]', async () => {
  const [name, first, second] = [aName('three'), aName('first'), aName('second')];
  await makeSet(first);
  await makeSet(second);
  await join(name, { clusterSet: first });
  expect((await hub.cluster(name))?.metadata.labels).toMatchObject({ 'rollcall.dev/cluster-set': first });
  await moveTo(name, second);
  const { newest } = await until('the move is an event', async () => {
    const found = await decisionOf(name);
    return found.decision?.clusterSet === second && found;
  });
  expect(newest).toMatchObject({
    type: 'changed',
    reason: 'SetChanged',
    message: `a person put the cluster into set "${second}", out of set "${first}"`,
  });
  // A change that is made before the last one is shown is taken for an old projection.
  await until('the move is shown', async () => {
    const { sequence = 0 } = (await hub.cluster(name))?.status?.observed ?? {};
    return newest !== undefined && sequence >= newest.sequence;
  });
  await moveTo(name, null);
  await until('it is in none', async () => (await decisionOf(name)).decision?.clusterSet === undefined);
  // What comes after shows that the label stays away.
  await hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { unschedulable: true } });
  await until('it is cordoned', async () => (await decisionOf(name)).newest?.type === 'cordoned');
  expect((await hub.cluster(name))?.metadata.labels).not.toHaveProperty('rollcall.dev/cluster-set');
});

test('a set that is not there, or selects by labels: the same words in command line, condition and event [OC-6]', async () => {
  const missing = aName('missing');
  for (const { set, says } of [
    { set: missing, says: `there is no set "${missing}"` },
    { set: 'global', says: 'set "global" selects clusters by their labels, so none can be put into it' },
  ]) {
    const refused = await rollcall('token', 'create', '--cluster-set', set, '--name', aName('token'));
    expect([refused.code, refused.stdout]).toEqual([3, '']);
    expect(refused.stderr).toContain(says);
    expect(refused.stderr).toContain('code: TOKEN_REFUSED');
    // The command takes back what is refused; what `kubectl apply` makes stays, and says why.
    const { publicKey } = createNkey('user');
    const name = aName('token');
    await hub.up.admin.create<KubeObject>(resources.clusterRegistrationTokens, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ClusterRegistrationToken',
      metadata: { name, namespace: 'rollcall-join' },
      spec: { publicKey, clusterSet: set },
    });
    const condition = await until('the token is judged', async () => {
      const token = await hub.up.admin.get<ClusterRegistrationToken>(resources.clusterRegistrationTokens, {
        name,
        namespace: 'rollcall-join',
      });
      return token?.status?.conditions?.[0];
    });
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'InvalidSet',
      message: expect.stringContaining(says),
    });
    const { newest } = await hub.log.read({ kind: 'token', id: tokenIdOf(publicKey) });
    expect(newest?.message).toContain(says);
  }
  await makeSet(missing);
  await until('the token is good', async () => {
    const tokens = await hub.up.admin.list<ClusterRegistrationToken>(resources.clusterRegistrationTokens);
    return tokens.find(({ spec }) => spec.clusterSet === missing)?.status?.conditions?.[0]?.status === 'True';
  });

  const [name, nowhere] = [aName('four'), aName('nowhere')];
  await join(name);
  await moveTo(name, nowhere);
  const { newest } = await until('the move is an event', async () => {
    const found = await decisionOf(name);
    return found.decision?.clusterSet === nowhere && found;
  });
  expect(newest?.message).toContain(`there is no set "${nowhere}"`);
});

test('a policy that gives a set which is not there: a warning in the same words, until the set is there [OC-6]', async () => {
  const [name, missing] = [aName('by-set'), aName('absent')];
  const words = `there is no set "${missing}"; make a ManagedClusterSet of that name, or name another one`;
  const policy = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name },
    spec: { rules: [{ name: 'r', when: 'token.valid', effect: 'Approve', clusterSet: missing }] },
  };
  const path = joinPath(hub.up.stateDir, `${name}.json`);
  writeFileSync(path, JSON.stringify(policy));
  const checked = await rollcall('policy', 'check', path);
  expect(checked.code, checked.stderr).toBe(0);
  expect(checked.stderr).toContain(`warning: rule "r": ${words} (InvalidSet)`);

  await hub.up.admin.create(resources.approvalPolicies, policy as never);
  const untilWarned = (status: string) =>
    until(`policy ${name} has Warning=${status}`, async () => {
      const found = await hub.up.admin.get<ApprovalPolicy>(resources.approvalPolicies, { name });
      const warning = found?.status?.conditions?.find(({ type }) => type === 'Warning');
      return warning?.status === status && warning;
    });
  expect(await untilWarned('True')).toMatchObject({ reason: 'InvalidSet', message: words });
  const newest = async () => (await hub.log.read({ kind: 'policy', id: name })).newest;
  expect((await newest())?.message).toBe(`policy "${name}" has 1 rule in force; ${words}`);

  await makeSet(missing);
  await untilWarned('False');
  expect((await newest())?.message).toBe(`policy "${name}" has 1 rule in force`);
  expect((await rollcall('policy', 'check', path)).stderr).not.toContain('warning');
  await hub.up.admin.delete(resources.approvalPolicies, name);
});

test('a set with clusters in it cannot be deleted, and says so beforehand; an empty one can [OC-6]', async () => {
  const [name, busy] = [aName('five'), aName('busy')];
  await makeSet(busy);
  await join(name, { clusterSet: busy });
  const counted = await untilCounted(busy, (count) => count === 1);
  const words = `set "${busy}" has clusters in it; it can be deleted once they are in another one`;
  expect(emptyOf(counted)).toMatchObject({ status: 'False', reason: 'HasClusters', message: words });
  const refused = hub.up.admin.delete(resources.managedClusterSets, busy);
  await expect(refused).rejects.toThrow(words);
  // Who could make a view of it first could delete that.
  const view = { type: 'LabelSelector', labelSelector: {} };
  const change = (patch: object) => hub.up.admin.mergePatch(resources.managedClusterSets, busy, patch);
  await expect(change({ spec: { selector: view } })).rejects.toThrow('it can be made a view once');
  await change({ metadata: { annotations: { note: 'x' } } });
  await moveTo(name, null);
  await untilCounted(busy, (count) => count === 0);
  await hub.up.admin.delete(resources.managedClusterSets, busy);
  await until('it is withdrawn', async () => {
    const { newest } = await hub.log.read({ kind: 'set', id: busy });
    return newest?.type === 'withdrawn';
  });
});

test('many joins are few writes of the sets that count them [OC-6, X-3]', async () => {
  const joining = 12;
  await untilCounted('global', (count) => count >= 0);
  const before = (await setOf('global'))?.status?.clusters ?? 0;
  const ending = new AbortController();
  const sets = createResourceCache<ManagedClusterSet>(hub.up.admin, resources.managedClusterSets, {
    signal: ending.signal,
  });
  await sets.whenSynced;
  let writes = 0;
  sets.onChange(({ object }) => {
    if (object.metadata.name === 'global') writes++;
  });
  const names = Array.from({ length: joining }, () => aName('many'));
  await Promise.all(names.map((name) => join(name)));
  await until('all are counted', async () => sets.get('global')?.status?.clusters === before + joining);
  ending.abort();
  await sets.whenEnded;
  expect(writes).toBeLessThan(joining);
});
