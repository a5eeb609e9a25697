import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createPolicyEvaluator,
  evaluatePolicies,
  judge,
  policyInput,
  policyWarnings,
} from '@rollcall/approver/policy';
import { identitySchema } from '@rollcall/shared/events';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { aDecision } from '../../tests/harness/events.ts';
import { findingText, findingsOf } from './check-policy.ts';
import { parsePolicyFile } from './policy-file.ts';
import { withFile } from './try-policy.ts';

/*
 * Every example of the policy guide: the first column of its table is laid over a request with a valid token, the second is what
 * the approver decides.
 */
const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'policy-guide.md'), 'utf8');
const evaluator = createPolicyEvaluator({ deadlineMs: 5000 });
afterAll(() => evaluator.close());

interface Row {
  readonly request: string;
  readonly decision: string;
}
interface Example {
  readonly yaml: string;
  readonly warning: string | undefined;
  readonly rows: readonly Row[];
}

function examples(): Example[] {
  const blocks = guide.matchAll(
    /```yaml policy(?: warning (?<warning>\w+))?\n(?<yaml>[\s\S]*?)\n```\n\n(?<table>(?:\|.*\n)+)/g,
  );
  return [...blocks].map(({ groups }) => ({
    yaml: groups?.['yaml'] ?? '',
    warning: groups?.['warning'],
    rows: (groups?.['table'] ?? '')
      .trim()
      .split('\n')
      .slice(2)
      .map((line) => {
        const [, request = '', decision = ''] = line.split('|').map((cell) => cell.trim());
        return { request: request.replaceAll('`', ''), decision };
      }),
  }));
}

type Fields = Record<string, string | number | boolean | object>;

async function decide(yaml: string, row: string): Promise<string> {
  const { at, ...over } = parse(row) as { at?: string } & Record<string, Fields>;
  const nowMs = Date.parse(at ?? '2026-11-20T12:00:00Z');
  const request = {
    id: 'r',
    key: 'k',
    keyFingerprint: 'f',
    tokenId: 't',
    tokenName: 'rollcall-join/t',
    claimed: {},
    requestedAtMs: nowMs,
  };
  const identity = identitySchema.parse({
    state: 'requested',
    clusterId: 'c',
    clusterName: 'alpha',
    request,
  });
  // Another key asks: one is in, and the hub has judged what the member proved.
  const { keyChanged, sameMember } = over['verified'] ?? {};
  const known = keyChanged === true ? 'other' : undefined;
  const asking =
    known === undefined
      ? identity
      : {
          ...identity,
          admittedKey: known,
          request: { ...identity.request, member: { sameMember: sameMember === true } },
        };
  const previous =
    known === undefined ? undefined : aDecision({ verdict: 'approved', key: known, approvedKey: known });
  const base: Record<string, Fields> = {
    ...policyInput(identity, { token: undefined, keyChanged: false, nowMs }),
  };
  const token: Fields = { ...base['token'], valid: true, uses: 1 };
  const laid = Object.fromEntries(
    Object.entries({ ...base, token }).map(([root, fields]) => [root, { ...fields, ...over[root] }]),
  );
  const policies = withFile([], parsePolicyFile(yaml).policies);
  const input = laid as unknown as ReturnType<typeof policyInput>;
  const outcome = await evaluatePolicies({ evaluator, deadlineMs: 5000 }, policies, input);
  const judgement = judge({ identity: asking, previous, outcome });
  if (!judgement) return 'settled';
  const { verdict, reason, by } = judgement;
  const isByRule = reason.startsWith('Policy') && reason !== 'PolicyError';
  return isByRule ? `${verdict} by ${by.rule}` : `${verdict}, ${reason}`;
}

test('every policy of the guide has a table, or says what is wrong with it', () => {
  expect(examples()).toHaveLength((guide.match(/```yaml/g)?.length ?? 0) - 1);
  expect(examples().every(({ rows }) => rows.length >= 2)).toBe(true);
});

describe.each(examples())('$yaml', ({ yaml, warning, rows }) => {
  test('has no mistake, and warns of what the guide says', async () => {
    const file = parsePolicyFile(yaml);
    expect((await findingsOf(file)).filter(({ severity }) => severity === 'error')).toEqual([]);
    const warnings = file.policies.flatMap((policy) => policyWarnings(policy.rules));
    expect(warnings.map(({ reason }) => reason)).toEqual(warning === undefined ? [] : [warning]);
  });
  test.each(rows)('$request → $decision', async ({ request, decision }) => {
    expect(await decide(yaml, request)).toBe(decision);
  });
});

test('the mistakes of the guide are said as it says them', async () => {
  const { yaml = '', text = '' } =
    /```yaml policy mistakes\n(?<yaml>[\s\S]*?)\n```\n\n```text\n(?<text>[\s\S]*?)\n```/.exec(guide)
      ?.groups ?? {};
  const file = parsePolicyFile(yaml);
  const said = (await findingsOf(file)).map((finding) => findingText('policy.yaml', file.lines, finding));
  expect(said.join('\n')).toBe(text);
});
