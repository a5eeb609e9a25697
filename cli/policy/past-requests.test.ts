import type { CountComparison } from '@rollcall/approver/policy';
import { expect, test } from 'vitest';
import { type Decision, type EventDraft, held, type Identity, predefined } from '@rollcall/shared/events';
import { join, logOf, startMs } from '../tests/past-history.ts';
import { type PastRequest, replayRequests } from './past-requests.ts';
import { tryPolicies } from './try-policy.ts';

/** Requests 0 to `decided` are decided at once; one more waits. */
function historyOf(decided: number) {
  const drafts = Array.from({ length: decided }, (_, index) => join(index)).flat();
  return logOf([...drafts, join(decided)[0] as EventDraft]);
}

async function replay(
  log: Parameters<typeof replayRequests>[0]['log'],
  comparedCounts: readonly CountComparison[] | undefined,
) {
  const asked: PastRequest[][] = [];
  await replayRequests({
    log,
    fromMs: startMs,
    comparedCounts,
    policyNames: ['new'],
    setNames: ['new-set'],
    onSkip: (error) => expect.fail(error.message),
    async judge(all) {
      asked.push([...all]);
      return all.map(() => undefined);
    },
    take: () => undefined,
  });
  return asked;
}

test('all requests are judged, in order, the last and undecided one too', async () => {
  const asked = await replay(historyOf(300), []);
  expect(asked.flat().map(({ identity }) => identity.clusterId)).toEqual(
    Array.from({ length: 301 }, (_, index) => `cluster-${index}`),
  );
  expect(asked.flat().map(({ decision }) => decision !== undefined)).toEqual([
    ...Array.from({ length: 300 }, () => true),
    false,
  ]);
  expect(asked.length).toBeLessThan(30);
});

test('where policies do more with the counts of the fleet than compare them, each is judged once what came before it is counted', async () => {
  const asked = await replay(historyOf(5), undefined);
  expect(asked.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(asked.flat().map(({ input }) => input.fleet.clusters)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(asked.at(-1)?.[0]?.input.fleet).toMatchObject({
    byPolicyToday: { default: 5, new: 0 },
    bySet: { 'new-set': 0 },
  });
});

test('requests are judged together as long as no count crosses a number that it is compared with', async () => {
  const asked = await replay(historyOf(9), [
    { path: ['clusters'], number: 4n },
    { path: ['approvedToday'], number: 7n },
  ]);
  // At 4 it is equal, which is neither less nor more; after each, fewer are judged at once.
  const judged = asked.map((some) => some.map(({ identity }) => identity.clusterName.slice('edge-'.length)));
  expect(judged.map(([first]) => first)).toEqual(['0', '4', '5', '7', '8', '9']);
  expect(asked.map((some) => some[0]?.input.fleet.clusters)).toEqual([0, 4, 5, 7, 8, 9]);
});

test.each(['fleet.clusters < 5 || fleet.byPolicyToday["p"] == 2', '(fleet.clusters + 1) % 3 == 0'])(
  'together or one by one, the same is decided: %s',
  async (when) => {
    const rules = [{ name: 'r', when, effect: 'Approve' as const, clusterSet: 'edge' }];
    const declaration = { name: 'p', uid: '', generation: 1, rules, withdrawn: false };
    const trial = await tryPolicies({
      log: historyOf(12),
      policies: [{ declaration, version: when }],
      setNames: ['edge'],
      fromMs: startMs,
    });
    // What each would have been if the counts were those of what is decided instead.
    let letIn = 0;
    const expected = Array.from({ length: 13 }, () => {
      const isIn = when.startsWith('fleet') ? letIn < 5 || letIn === 2 : (letIn + 1) % 3 === 0;
      if (isIn) letIn++;
      return isIn ? 'approved' : 'held';
    });
    expect(trial.changed.map(({ wouldBe }) => wouldBe.verdict)).toEqual(expected);
  },
);

test('a request that says something else while it is held is asked about once, as it was decided first', async () => {
  const [request, decision] = join(0) as [EventDraft, EventDraft];
  const asHeld = { ...(decision.section as Decision), verdict: 'held', approvedKey: undefined };
  const heldFirst = { ...decision, definition: held, section: asHeld };
  const identity = request.section as Identity;
  const claimed = { provider: 'gcp', labels: {} };
  const changed = { ...request, section: { ...identity, request: { ...identity.request, claimed } } };
  const seen = (await replay(logOf([request, heldFirst, changed, decision]), [])).flat();
  expect(seen.map(({ input }) => input.claimed)).toEqual([{ labels: {} }]);
  const before = (await replay(logOf([request, changed, decision]), [])).flat();
  expect(before.map(({ input }) => input.claimed)).toEqual([{ provider: 'gcp', labels: {} }]);
});

test('the quota of a policy that was not there counts what it would have let in', async () => {
  const when = 'fleet.byPolicyToday["zeta"] < 3';
  const declaration = {
    name: 'zeta',
    uid: '',
    generation: 1,
    rules: [{ name: 'r', when, effect: 'Approve' as const }],
    withdrawn: false,
  };
  const policies = [{ declaration, version: '1' }];
  const trial = await tryPolicies({ log: historyOf(6), policies, fromMs: startMs });
  expect(trial).toMatchObject({ judged: 7, counts: { 'approved → held': 3, 'undecided → held': 1 } });
});

const approvesAll = (clusterSet?: string) => {
  const rules = [
    { name: 'all', when: 'true', effect: 'Approve' as const, ...(clusterSet ? { clusterSet } : {}) },
  ];
  const declaration = { name: 'default', uid: '', generation: 1, rules, withdrawn: false };
  return [{ declaration, version: JSON.stringify(rules) }];
};

test('what a person laid down beforehand is no difference, whatever rule lets the cluster in', async () => {
  const [request, decision] = join(0) as [EventDraft, EventDraft];
  const laidDown = {
    clusterSet: 'edge',
    access: 'Namespace',
    predefined: { clusterType: 'Standard', mode: 'Pull' },
  } as const;
  const section = { ...(decision.section as Decision), ...laidDown };
  const { requestId: _of, key: _by, approvedKey: _in, ...nobody } = section;
  const before = { ...decision, definition: predefined, section: { ...nobody, verdict: 'predefined' } };
  const asked = request.section as Identity;
  const ofSet = { ...asked, request: { ...asked.request, clusterSet: 'edge' } };
  const log = logOf([before, { ...request, section: ofSet }, { ...decision, section }]);
  const policies = approvesAll('another');
  expect(await tryPolicies({ log, policies, fromMs: startMs })).toMatchObject({ judged: 1, changed: [] });
});

test('a set that a policy would have given counts for the requests that follow', async () => {
  const [first] = approvesAll('edge');
  const rules = first!.declaration.rules.map((rule) => ({ ...rule, when: 'fleet.bySet["edge"] < 2' }));
  const policies = [{ declaration: { ...first!.declaration, rules }, version: '2' }];
  const trial = await tryPolicies({ log: historyOf(4), policies, setNames: ['edge'], fromMs: startMs });
  expect(trial.counts).toEqual({
    'approved → approved, set edge': 2,
    'approved → held': 2,
    'undecided → held': 1,
  });
});
