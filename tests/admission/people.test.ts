import { resources } from '@rollcall/shared/kubernetes';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { aCluster, aProjection, aRequest, outcomeOf, startGuardedHub } from './guarded-hub.ts';
import type { GuardedHub } from './guarded-hub.ts';

const requests = resources.clusterRegistrationRequests;
const clusters = resources.managedClusters;
const kinds = [requests, clusters, resources.approvalPolicies, resources.clusterRegistrationTokens];
const editOurKinds = {
  apiGroups: ['rollcall.dev'],
  resources: kinds.flatMap(({ plural }) => [plural, `${plural}/status`]),
  verbs: ['get', 'create', 'update', 'patch', 'delete'],
};
const virtual = (resource: string, resourceNames?: readonly string[]) => ({
  apiGroups: ['rollcall.dev'],
  resources: [resource],
  verbs: ['create'],
  ...(resourceNames && { resourceNames }),
});

const bindings = resources.managedClusterSetBindings;
const editBindings = {
  apiGroups: ['rollcall.dev'],
  resources: [bindings.plural, `${bindings.plural}/status`],
  verbs: ['get', 'create', 'update', 'patch', 'delete'],
};

let hub: GuardedHub;
let projector: KubeClient;
beforeAll(async () => {
  hub = await startGuardedHub();
  projector = hub.service('projector');
  await hub.grant('editor', [editOurKinds]);
  await hub.grant('alice', 'rollcall-approver');
  await hub.grant('bob', 'rollcall-approver');
  await hub.grant('boss', 'rollcall-admin');
  await hub.grant('owner-of-a', [editOurKinds, virtual('managedclusters/accept', ['a'])]);
  await hub.grant('revoker', [editOurKinds, virtual('managedclusters/revoke')]);
  await hub.grant('joins-red', [editOurKinds, virtual('managedclustersets/join', ['red'])]);
  await hub.grant('binds-red', [editBindings, virtual('managedclustersets/bind', ['red'])]);
  await hub.grant('binds-none', [editBindings, virtual('managedclustersets/join')]);
  await hub.grant('joins-both', [editOurKinds, virtual('managedclustersets/join', ['red', 'blue'])]);
});
afterAll(() => hub[Symbol.asyncDispose]());

const decide = (userName: string, name: string, decision: object | null): Promise<string> =>
  outcomeOf(hub.as(userName).mergePatch(requests, name, { spec: { decision } }));
const decisionOf = async (name: string): Promise<object | undefined> => {
  const stored = await hub.admin.get(requests, { name });
  return (stored?.spec as { decision?: object } | undefined)?.decision;
};

describe('deciding about a request', () => {
  test('needs accept for the cluster that it names [OC-1]', async () => {
    await projector.create(requests, aRequest('r-a', { clusterName: 'a' }));
    await projector.create(requests, aRequest('r-b', { clusterName: 'b' }));
    expect(await decide('editor', 'r-a', { verdict: 'Approve' })).toContain(
      `'rollcall-accept' denied request: deciding about this request needs verb create on managedclusters/accept for "a"`,
    );
    expect(await decide('owner-of-a', 'r-b', { verdict: 'Deny' })).toContain(
      'managedclusters/accept for "b"',
    );
    expect(await decide('owner-of-a', 'r-a', { verdict: 'Approve' })).toBe('allowed');
    expect(await decide('editor', 'r-a', null)).toContain('managedclusters/accept for "a"');
  });

  test('is attributed: who decided and about which key', async () => {
    await projector.create(requests, aRequest('r-attributed'));
    expect(await decide('alice', 'r-attributed', { verdict: 'Approve', by: 'mallory' })).toBe('allowed');
    expect(await decisionOf('r-attributed')).toEqual({
      verdict: 'Approve',
      by: 'alice',
      keyFingerprint: 'K1',
    });
  });

  test('cannot be put into the mouth of another person afterwards', async () => {
    await projector.create(requests, aRequest('r-forged'));
    await decide('alice', 'r-forged', { verdict: 'Approve', reason: 'known' });
    for (const by of ['bob', 'mallory', null]) {
      expect(await decide('bob', 'r-forged', { by })).toContain('cannot change without a changed decision');
    }
    expect(await decide('bob', 'r-forged', { at: '2020-01-01T00:00:00Z' })).toContain('rollcall-accept');
    expect(await decide('bob', 'r-forged', { verdict: 'Approve' })).toBe('allowed');
    expect(await decisionOf('r-forged')).toMatchObject({ by: 'alice' });
    expect(await decide('bob', 'r-forged', { verdict: 'Deny', at: '2020-01-01T00:00:00Z' })).toContain(
      'spec.decision.at cannot be written',
    );
    expect(await decide('bob', 'r-forged', { verdict: 'Deny' })).toBe('allowed');
    expect(await decisionOf('r-forged')).toMatchObject({ verdict: 'Deny', by: 'bob' });
    expect(await decide('alice', 'r-forged', null)).toBe('allowed');
    expect(await decisionOf('r-forged')).toBeUndefined();
  });

  test('about another key is refused with the line to type', async () => {
    await projector.create(requests, aRequest('r-key'));
    expect(await decide('alice', 'r-key', { verdict: 'Approve', keyFingerprint: 'K0' })).toContain(
      `kubectl patch clusterregistrationrequests.rollcall.dev r-key --type=merge -p '{"spec":{"decision":{"verdict":"Approve","keyFingerprint":"K1","by":"alice"}}}'`,
    );
  });

  test('by server-side apply keeps the name when it is applied again', async () => {
    await projector.create(requests, aRequest('r-apply'));
    const { apiVersion, kind, metadata } = aRequest('r-apply');
    const spec = { decision: { verdict: 'Approve' } };
    for (let time = 0; time < 2; time++) {
      const applied = outcomeOf(hub.as('alice').apply(requests, { apiVersion, kind, metadata, spec }));
      expect(await applied).toBe('allowed');
    }
    expect(await decisionOf('r-apply')).toMatchObject({ by: 'alice', keyFingerprint: 'K1' });
  });

  test('needs replacekey as well when the cluster is known under another key', async () => {
    await projector.create(requests, aRequest('r-changed', { knownKeyFingerprint: 'K0' }));
    expect(await decide('alice', 'r-changed', { verdict: 'Approve' })).toContain(
      'managedclusters/replacekey',
    );
    expect(await decide('alice', 'r-changed', { verdict: 'Deny' })).toBe('allowed');
    expect(await decide('boss', 'r-changed', { verdict: 'Approve' })).toBe('allowed');
  });
});

describe('what only the hub writes', () => {
  test('a person cannot make a request, or change what an agent asked for', async () => {
    const made = hub.as('editor').create(requests, aRequest('r-made-up'));
    expect(await outcomeOf(made)).toContain('only the projector may create');
    await projector.create(requests, aRequest('r-asked'));
    for (const change of [{ clusterName: 'a' }, { keyFingerprint: 'K2' }, { token: 'x' }]) {
      const changed = hub.as('boss').mergePatch(requests, 'r-asked', { spec: change });
      expect(await outcomeOf(changed)).toContain('only spec.decision of a request can be changed');
    }
  });

  test('a person cannot write status, finalizer or our labels', async () => {
    await projector.create(clusters, aProjection('shown', {}, { finalizers: ['rollcall.dev/leave'] }));
    const editor = hub.as('editor');
    for (const client of [editor, hub.admin]) {
      const written = client.mergePatch(clusters, 'shown', { status: {} }, { subresource: 'status' });
      expect(await outcomeOf(written)).toContain('only the projector may write it');
      const labels = { 'rollcall.dev/cluster-id': 'x' };
      const labelled = client.mergePatch(clusters, 'shown', { metadata: { labels } });
      expect(await outcomeOf(labelled)).toContain('are set by the hub');
    }
    const free = { metadata: { finalizers: null } };
    expect(await outcomeOf(editor.mergePatch(clusters, 'shown', free))).toContain(
      'delete the object and wait',
    );
    const relabelled = editor.mergePatch(clusters, 'shown', { metadata: { labels: { env: 'prod' } } });
    expect(await outcomeOf(relabelled)).toBe('allowed');
    expect(await outcomeOf(hub.admin.mergePatch(clusters, 'shown', free))).toBe('allowed');
  });
});

const operation = (userName: string, name: string, verb: string, id = verb): Promise<string> =>
  outcomeOf(
    hub.as(userName).mergePatch(clusters, name, { spec: { operation: { id, verb, keyFingerprint: 'K1' } } }),
  );

describe('operations', () => {
  test.each([
    { verb: 'Revoke', right: 'revoke' },
    { verb: 'Ban', right: 'revoke' },
    { verb: 'Unban', right: 'revoke' },
    { verb: 'ReplaceKey', right: 'replacekey' },
    { verb: 'RotateKey', right: 'replacekey' },
    { verb: 'ForceDelete', right: 'forcedelete' },
  ])('$verb needs $right', async ({ verb, right }) => {
    const name = `operation-${verb.toLowerCase()}`;
    await projector.create(clusters, aProjection(name));
    expect(await operation('alice', name, verb)).toContain(`managedclusters/${right} for "${name}"`);
    const answerToRevoker = right === 'revoke' ? 'allowed' : `managedclusters/${right} for "${name}"`;
    expect(await operation('revoker', name, verb)).toContain(answerToRevoker);
    expect(await operation('boss', name, verb, 'second')).toBe('allowed');
  });

  test('carry the name of who made them', async () => {
    await projector.create(clusters, aProjection('operation-by'));
    const forged = { spec: { operation: { id: '1', verb: 'Ban', keyFingerprint: 'K1', by: 'mallory' } } };
    const stored = await hub.as('boss').mergePatch(clusters, 'operation-by', forged);
    expect(stored.spec).toMatchObject({ operation: { by: 'boss' } });
    const later = { spec: { operation: { by: 'revoker' } } };
    expect(await outcomeOf(hub.as('revoker').mergePatch(clusters, 'operation-by', later))).toContain(
      'cannot change without a changed operation',
    );
    expect(await operation('revoker', 'operation-by', 'Unban', '1')).toContain(
      'a changed operation needs a new spec.operation.id',
    );
  });

  test('hubAcceptsClient needs accept in every direction', async () => {
    for (const from of [undefined, true, false]) {
      const name = `accepts-${from}`;
      const made = aCluster(name, from === undefined ? {} : { hubAcceptsClient: from });
      await hub.as('boss').create(clusters, made);
      for (const to of [null, true, false].filter((value) => value !== (from ?? null))) {
        const patch = { spec: { hubAcceptsClient: to } };
        const refused = await outcomeOf(hub.as('editor').mergePatch(clusters, name, patch, { dryRun: true }));
        expect(refused).toContain('needs verb create on managedclusters/accept');
        expect(await outcomeOf(hub.as('alice').mergePatch(clusters, name, patch, { dryRun: true }))).toBe(
          'allowed',
        );
      }
    }
    const cordoned = hub.as('editor').mergePatch(clusters, 'accepts-true', { spec: { unschedulable: true } });
    expect(await outcomeOf(cordoned)).toBe('allowed');
  });
});

test('access to the hub needs accept in every direction, also with a new cluster', async () => {
  const open = aCluster('opens', { access: 'Namespace' });
  const refusal = 'changing spec.access needs verb create on managedclusters/accept';
  expect(await outcomeOf(hub.as('editor').create(clusters, open))).toContain(refusal);
  await hub.as('boss').create(clusters, open);
  for (const access of ['None', null]) {
    const patch = { spec: { access } };
    expect(await outcomeOf(hub.as('editor').mergePatch(clusters, 'opens', patch))).toContain(refusal);
    const byAlice = hub.as('alice').mergePatch(clusters, 'opens', patch, { dryRun: true });
    expect(await outcomeOf(byAlice)).toBe('allowed');
  }
  // Whoever shows the cluster does not give it anything.
  const shown = projector.mergePatch(clusters, 'opens', { spec: { access: 'None' } });
  expect(await outcomeOf(shown)).toMatch(/rollcall-(services|operation|authors)/);
});

test('who gets into a member through the hub needs accept in every direction, also with a new cluster', async () => {
  const shut = aCluster('shut', { memberAccess: 'Denied' });
  const refusal = 'changing spec.memberAccess needs verb create on managedclusters/accept';
  expect(await outcomeOf(hub.as('editor').create(clusters, shut))).toContain(refusal);
  await hub.as('boss').create(clusters, shut);
  for (const memberAccess of ['Allowed', null]) {
    const patch = { spec: { memberAccess } };
    expect(await outcomeOf(hub.as('editor').mergePatch(clusters, 'shut', patch))).toContain(refusal);
    const byAlice = hub.as('alice').mergePatch(clusters, 'shut', patch, { dryRun: true });
    expect(await outcomeOf(byAlice)).toBe('allowed');
  }
});

const move = (userName: string, set: string | null): Promise<string> => {
  const labels = { 'rollcall.dev/cluster-set': set };
  return outcomeOf(hub.as(userName).mergePatch(clusters, 'mover', { metadata: { labels } }));
};
const tokenForRed = {
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ClusterRegistrationToken',
  metadata: { name: 't1', namespace: 'rollcall-join' },
  spec: { publish: true, clusterSet: 'red' },
};

describe('sets', () => {
  test('moving a cluster needs join on the old and the new set [OC-6]', async () => {
    await projector.create(clusters, aProjection('mover'));
    expect(await move('editor', 'red')).toContain('joining the set "red"');
    expect(await move('joins-red', 'red')).toBe('allowed');
    expect(await move('joins-red', 'blue')).toContain('joining the set "blue"');
    expect(await move('joins-both', 'blue')).toBe('allowed');
    expect(await move('joins-red', 'red')).toContain('leaving the set "blue"');
    expect(await move('joins-red', null)).toContain('leaving the set "blue"');
    expect(await move('joins-both', null)).toBe('allowed');
  });

  test('a token that gives a set needs join on it, at every change [OC-6]', async () => {
    const tokens = resources.clusterRegistrationTokens;
    expect(await outcomeOf(hub.as('editor').create(tokens, tokenForRed))).toContain('gives the set "red"');
    expect(await outcomeOf(hub.as('joins-red').create(tokens, tokenForRed))).toBe('allowed');
    const more = { spec: { uses: 'unlimited' } };
    const where = { namespace: 'rollcall-join' };
    const patched = hub.as('editor').mergePatch(tokens, 't1', more, where);
    expect(await outcomeOf(patched)).toContain('gives the set "red"');
    // After a restore that gives it all its uses once more.
    const renewal = { metadata: { annotations: { 'rollcall.dev/epoch': '2' } } };
    const renewed = hub.as('editor').mergePatch(tokens, 't1', renewal, where);
    expect(await outcomeOf(renewed)).toContain('gives the set "red"');
    expect(await outcomeOf(hub.as('joins-red').mergePatch(tokens, 't1', renewal, where))).toBe('allowed');
  });

  const where = { namespace: 'default' };
  const aBinding = (clusterSet: string, name = clusterSet) => ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: bindings.kind,
    metadata: { name, ...where },
    spec: { clusterSet },
  });
  const bind = (userName: string, ...named: [set: string, name?: string]) =>
    outcomeOf(hub.as(userName).create(bindings, aBinding(...named)));

  test('binding one to a namespace needs bind on it, and a binding stays with its set [OC-6]', async () => {
    expect(await bind('binds-none', 'red')).toContain(
      `'rollcall-bind' denied request: binding the set "red" needs verb create on managedclustersets/bind for it`,
    );
    expect(await bind('binds-red', 'blue')).toContain('binding the set "blue"');
    expect(await bind('binds-red', 'blue', 'red')).toContain('metadata.name must be spec.clusterSet');
    expect(await bind('binds-red', 'red')).toBe('allowed');
    const other = { spec: { clusterSet: 'blue' } };
    expect(await outcomeOf(hub.admin.mergePatch(bindings, 'red', other, where))).toContain(
      'metadata.name must be spec.clusterSet',
    );
    // Else whoever empties a namespace could not.
    const labelled = { metadata: { labels: { team: 'a' } } };
    expect(await outcomeOf(hub.as('binds-none').mergePatch(bindings, 'red', labelled, where))).toBe(
      'allowed',
    );
    expect(await outcomeOf(hub.as('binds-none').delete(bindings, 'red', where))).toBe('allowed');
    expect(await bind('boss', 'blue')).toBe('allowed');
  });

  test('whether it is bound says the hub alone', async () => {
    await hub.admin.create(bindings, aBinding('green'));
    const condition = {
      type: 'Bound',
      status: 'True',
      reason: 'Bound',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const status = { conditions: [condition] };
    const written = hub
      .as('binds-red')
      .mergePatch(bindings, 'green', { status }, { ...where, subresource: 'status' });
    expect(await outcomeOf(written)).toContain('only the projector may write it');
  });
});

const aPolicy = (name: string, rules: readonly object[]) => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ApprovalPolicy',
  metadata: { name },
  spec: { rules: rules.map((rule, index) => ({ name: `rule-${index}`, when: 'true', ...rule })) },
});

describe('approval policies', () => {
  const policies = resources.approvalPolicies;
  test('a rule that approves needs accept on all clusters', async () => {
    const approving = aPolicy('approving', [{ effect: 'Approve' }]);
    expect(await outcomeOf(hub.as('owner-of-a').create(policies, approving))).toContain('for all clusters');
    expect(await outcomeOf(hub.as('boss').create(policies, approving))).toBe('allowed');
  });

  test('anybody who may write policies may add what denies, but not take it away', async () => {
    const denying = aPolicy('denying', [{ effect: 'Deny' }]);
    expect(await outcomeOf(hub.as('editor').create(policies, denying))).toBe('allowed');
    const emptied = hub.as('editor').mergePatch(policies, 'denying', { spec: { rules: [] } });
    expect(await outcomeOf(emptied)).toContain('taking away one that holds or denies');
    expect(await outcomeOf(hub.as('editor').delete(policies, 'denying'))).toContain('rollcall-policies');
    expect(await outcomeOf(hub.as('boss').delete(policies, 'denying'))).toBe('allowed');
  });

  test('the largest policy still fits the cost limit', async () => {
    const rules = Array.from({ length: 64 }, (_, index) => ({
      effect: 'Deny',
      when: `${'x'.repeat(4000)}${index}`,
      clusterSet: `set-${index}`,
    }));
    expect(await outcomeOf(hub.as('boss').create(policies, aPolicy('large', rules)))).toBe('allowed');
    const turned = aPolicy('large', rules.toReversed());
    expect(await outcomeOf(hub.as('boss').apply(policies, turned, { force: true }))).toBe('allowed');
  });

  test('a rule that gives a set needs join on it', async () => {
    const giving = aPolicy('giving', [{ effect: 'Hold', clusterSet: 'red' }]);
    expect(await outcomeOf(hub.as('editor').create(policies, giving))).toContain('managedclustersets/join');
    expect(await outcomeOf(hub.as('joins-red').create(policies, giving))).toBe('allowed');
    const rules = ['red', 'blue'].map((clusterSet) => ({ effect: 'Hold', clusterSet }));
    const givingBoth = aPolicy('giving-both', rules);
    expect(await outcomeOf(hub.as('joins-both').create(policies, givingBoth))).toContain('for all sets');
    expect(await outcomeOf(hub.as('boss').create(policies, givingBoth))).toBe('allowed');
  });
});

/** Last, because it takes attribution away for good. */
describe('below Kubernetes 1.36, where no name is filled in', () => {
  beforeAll(async () => {
    await projector.create(requests, aRequest('r-old'));
    await projector.create(clusters, aProjection('old'));
    for (const name of ['rollcall-attribution-decision', 'rollcall-attribution-operation']) {
      await hub.admin.delete(resources.mutatingAdmissionPolicyBindings, name);
    }
    const banned = { spec: { operation: { id: '1', verb: 'Ban', keyFingerprint: 'K1' } } };
    const operationIsAttributed = async (): Promise<boolean> =>
      (await outcomeOf(hub.admin.mergePatch(clusters, 'old', banned, { dryRun: true }))) === 'allowed';
    await vi.waitUntil(async () => !(await operationIsAttributed()), { timeout: 30_000 });
  });

  test('the refusal prints the line that works', async () => {
    const refusal = await decide('alice', 'r-old', { verdict: 'Approve' });
    const [, patch = ''] = /--type=merge -p '(.*)'/.exec(refusal) ?? [];
    expect(await outcomeOf(hub.as('alice').mergePatch(requests, 'r-old', JSON.parse(patch)))).toBe('allowed');
    expect(await decisionOf('r-old')).toEqual({ verdict: 'Approve', by: 'alice', keyFingerprint: 'K1' });
  });

  test('nobody decides or asks in the name of another', async () => {
    const decision = { verdict: 'Deny', by: 'alice' };
    expect(await decide('bob', 'r-old', decision)).toContain('must be your own user name');
    const patch = { spec: { operation: { id: '1', verb: 'Ban', keyFingerprint: 'K1', by: 'alice' } } };
    expect(await outcomeOf(hub.as('boss').mergePatch(clusters, 'old', patch))).toContain(
      'must be your own user name, "boss"',
    );
    expect(await decide('bob', 'r-old', { verdict: 'Deny', by: 'bob' })).toBe('allowed');
  });
});
