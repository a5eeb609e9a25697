import { RollcallError } from '@rollcall/shared/errors';
import { foldRecord } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { decidePolicy } from '../declarations/policy-declaration.ts';
import { evaluatePolicies, readPolicies } from '../requests/gather-judgement.ts';

type Reader = Parameters<typeof readPolicies>[0];

/** A stream whose policies this version cannot read. */
const readerOf = (...sequences: number[]): Reader => ({
  readAll: async (_filter, { onSkip } = {}) => {
    for (const sequence of sequences)
      onSkip?.(new RollcallError('EVENT_VERSION_UNKNOWN', 'x'), {
        kind: 'policy',
        id: 'no-edge',
        type: 'declared',
        sequence,
      });
    return [];
  },
});

const evaluator = {
  evaluate: async () => ({ kind: 'evaluated', answer: { matches: [], failures: [] } }) as const,
};

test('a policy that cannot be read may be a Deny, so the judgement fails and names it', async () => {
  const policies = await readPolicies(readerOf(4, 7));
  expect(policies).toHaveLength(1);
  const outcome = await evaluatePolicies(
    { evaluator: evaluator as never, deadlineMs: 100 },
    policies,
    {} as never,
  );
  expect(outcome).toMatchObject({
    kind: 'evaluated',
    matches: [],
    failures: [{ policy: 'no-edge', rule: '', message: expect.stringContaining('event 7') }],
  });
});

test('a policy that cannot be read is withdrawn when its object is gone', () => {
  const garbage = { epoch: 1, sequence: 7, digest: 'sha256:7' };
  const record = foldRecord({ kind: 'policy', id: 'no-edge' }, [], garbage);
  const [withdrawn, ...more] = decidePolicy({ record, wanted: undefined });
  expect(withdrawn).toMatchObject({
    definition: { type: 'withdrawn' },
    head: garbage,
    reason: 'PolicyDeleted',
  });
  expect(more).toEqual([]);
});

test('where nothing was ever declared nothing is withdrawn', () => {
  const record = foldRecord({ kind: 'policy', id: 'no-edge' }, []);
  expect(decidePolicy({ record, wanted: undefined })).toEqual([]);
});
