import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClusterRecord,
  policyDeclared,
  policyDeclaration,
  policyWithdrawn,
} from '@rollcall/shared/events';
import { draft, type TokenDeclaration, tokenRecord, tokenWithdrawn } from '@rollcall/shared/events';
import type { EventLog } from '@rollcall/shared/bus';
import { createNkey, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createFleetView } from '../../services/approver/fleet/fleet-view.ts';
import {
  judgeHeldRequests,
  judgeRequest,
  type JudgeParts,
} from '../../services/approver/requests/judge-requests.ts';
import { createPolicyEvaluator, type PolicyEvaluator } from '../../services/approver/policy/policy-thread.ts';
import { policyProblem } from '../../services/approver/policy/policy-problem.ts';
import { slowForLongNames } from '../../services/approver/tests/builders.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { declareToken } from '../harness/events.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import { type AttackedRegistrar, outcomeOf, startAttackedRegistrar } from './attacked-registrar.ts';

/** The attacker has a valid token and says what it likes; policies judge it by the approver's own code, on the real stream. */
let world: AttackedRegistrar;
let evaluator: PolicyEvaluator;
const deadlineMs = 100;
beforeAll(async () => {
  world = await startAttackedRegistrar();
  evaluator = createPolicyEvaluator({ deadlineMs });
});
afterAll(async () => {
  await evaluator.close();
  await world[Symbol.asyncDispose]();
});

const silent: JudgeParts['logger'] = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silent,
};

function anApprover(overrides: Partial<JudgeParts> = {}): JudgeParts {
  const log: EventLog = overrides.log ?? world.approverLog;
  const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
  const fleet = createFleetView(log);
  const nowMs = Date.now;
  return {
    log,
    evaluator,
    fleet,
    deadlineMs,
    heartbeat,
    nowMs,
    logger: silent,
    leaveWaitMs: 1,
    ...overrides,
  };
}

type Effect = 'Approve' | 'Hold' | 'Deny';
let generation = 0;
/** As the approver declares what a person wrote; the admission policies asked that person for the right to do so. */
async function declare(name: string, when: string, effect: Effect = 'Approve'): Promise<void> {
  const record = await world.approverLog.read({ kind: 'policy', id: name });
  const rules = [{ name: 'r', when, effect }];
  const section = { name, uid: 'u', generation: ++generation, rules, withdrawn: false };
  const event = draft(policyDeclared, record, { reason: 'Declared', message: 'm', section });
  await world.approverLog.append([event], { correlation: 'test' });
}

async function remove(name: string): Promise<void> {
  const record = await world.approverLog.read({ kind: 'policy', id: name });
  const before = policyDeclaration(record);
  if (!before || before.withdrawn) return;
  const section = { ...before, withdrawn: true };
  const event = draft(policyWithdrawn, record, { reason: 'Deleted', message: 'm', section });
  await world.approverLog.append([event], { correlation: 'test' });
}
afterEach(() => Promise.all(['a', 'b', 'quota'].map(remove)));

interface Asked {
  readonly clusterId: string;
  readonly tokenId: string;
}

/** Asks as an agent does, over the bus and through the registrar. */
async function ask(
  more: Record<string, unknown> = {},
  token: Partial<TokenDeclaration> = {},
): Promise<Asked> {
  const held = await declareToken(world.approverLog, world.hub.hub.hubId, token);
  await using agent = await connectWithToken(world.hub, held);
  const body = aJoin(held, more);
  // What is refused unread is answered without the id of the request.
  const unread = agent.nextNews().then((answer) => answer.result);
  const result = await Promise.race([askToJoin(agent, held, body), unread]);
  if (result.kind !== 'waiting') throw new Error(outcomeOf(result));
  return { clusterId: body.clusterId, tokenId: tokenIdOf(held.key.publicKey) };
}

async function judged({ clusterId }: Asked, parts = anApprover()): Promise<ClusterRecord> {
  await judgeRequest(parts, clusterId, { correlation: 'test' });
  return world.cluster(clusterId);
}

/** The decision, and every event about the cluster: a held one has nothing else. */
async function outcome(asked: Asked, parts?: JudgeParts) {
  const { decision } = await judged(asked, parts);
  const events = await Array.fromAsync(world.opsLog.scan({ filter: `cluster.${asked.clusterId}.*` }));
  const { verdict, reason, message, approvedKey } = decision ?? {};
  return { verdict, reason, message, approvedKey, events: events.map(({ type }) => type) };
}

const heldFor = (reason: string, message = '') => ({
  verdict: 'held',
  reason,
  message: expect.stringContaining(message),
  approvedKey: undefined,
  events: ['requested', 'held'],
});

test('the honest request that a policy names is approved: what follows can fail', async () => {
  await declare('a', 'token.valid');
  expect((await judged(await ask())).decision).toMatchObject({ verdict: 'approved', by: { policy: 'a' } });
});

describe('whatever is not a clear yes is held, with the reason', () => {
  const longName = `${'a'.repeat(40)}1`;
  const cases: { name: string; rules: [string, Effect][]; want: [string, string?]; clusterName?: string }[] =
    [
      { name: 'no policy at all', rules: [], want: ['NoRuleMatched'] },
      {
        name: 'a policy that names others',
        rules: [['request.clusterName == "x"', 'Approve']],
        want: ['NoRuleMatched'],
      },
      {
        name: 'a field that is not there',
        rules: [['claimed.region == "eu"', 'Approve']],
        want: ['PolicyError', 'region'],
      },
      {
        name: 'a key that is not there',
        rules: [['request.labels["team"] == "a"', 'Approve']],
        want: ['PolicyError', 'team'],
      },
      {
        name: 'a division by zero',
        rules: [['1 / (token.uses - 1) == 1', 'Approve']],
        want: ['PolicyError', 'zero'],
      },
      {
        name: 'a number where yes or no is asked',
        rules: [['dyn(token.uses)', 'Approve']],
        want: ['PolicyError', 'bool'],
      },
      { name: 'a text that says true', rules: [['dyn("true")', 'Approve']], want: ['PolicyError', 'bool'] },
      { name: 'null', rules: [['dyn(null)', 'Approve']], want: ['PolicyError', 'bool'] },
      { name: 'a list with a yes in it', rules: [['dyn([true])', 'Approve']], want: ['PolicyError', 'bool'] },
      {
        name: 'an expression without end',
        clusterName: longName,
        rules: [[slowForLongNames, 'Approve']],
        want: ['PolicyTimeout'],
      },
      {
        name: 'a yes beside an error in another policy',
        rules: [
          ['token.valid', 'Approve'],
          ['claimed.region == "eu"', 'Approve'],
        ],
        want: ['PolicyError'],
      },
      {
        name: 'a yes beside a no that cannot be evaluated',
        rules: [
          ['token.valid', 'Approve'],
          ['claimed.region == "eu"', 'Deny'],
        ],
        want: ['PolicyError'],
      },
      {
        name: 'a yes beside a no that takes too long',
        clusterName: longName.replace('1', '2'),
        rules: [
          ['token.valid', 'Approve'],
          [slowForLongNames, 'Deny'],
        ],
        want: ['PolicyTimeout'],
      },
      {
        name: 'a yes beside a hold',
        rules: [
          ['token.valid', 'Approve'],
          ['true', 'Hold'],
        ],
        want: ['PolicyHeld'],
      },
    ];
  test.each(cases)('$name', async ({ rules, want: [reason, message], clusterName }) => {
    for (const [at, [when, effect]] of rules.entries()) await declare(at === 0 ? 'a' : 'b', when, effect);
    const asked = await ask(clusterName === undefined ? {} : { clusterName });
    expect(await outcome(asked)).toEqual(heldFor(reason, message));
  });

  test('a token that has ended between the request and the judgement', async () => {
    await declare('a', 'token.valid');
    const asked = await ask();
    const later = anApprover({ nowMs: () => Date.now() + 7_200_000 });
    expect(await outcome(asked, later)).toEqual(heldFor('NoRuleMatched'));
  });
});

describe('what stood when it was read and stands no more when it is decided', () => {
  /** Evaluating takes long, and meanwhile somebody takes something back. */
  function slowApprover(meanwhile: () => Promise<void>): JudgeParts {
    let isDone = false;
    const slow: PolicyEvaluator = {
      async evaluate(question) {
        const evaluation = await evaluator.evaluate(question);
        if (!isDone) {
          isDone = true;
          await meanwhile();
          await delay(25);
        }
        return evaluation;
      },
      close: () => Promise.resolve(),
    };
    return anApprover({ evaluator: slow });
  }

  test('a policy that is deleted while it is evaluated approves nobody', async () => {
    await declare('a', 'token.valid');
    expect(
      await outcome(
        await ask(),
        slowApprover(() => remove('a')),
      ),
    ).toEqual(heldFor('NoRuleMatched'));
  });

  test('a refusal that is written while another policy is evaluated counts', async () => {
    await declare('a', 'token.valid');
    const { decision } = await judged(
      await ask(),
      slowApprover(() => declare('b', 'true', 'Deny')),
    );
    expect(decision).toMatchObject({ verdict: 'denied', by: { policy: 'b' } });
  });

  test('a token that is withdrawn while a policy is evaluated lets nobody in', async () => {
    await declare('a', 'token.valid');
    const asked = await ask();
    const withdraw = async () => {
      const record = tokenRecord(await world.approverLog.read({ kind: 'token', id: asked.tokenId }));
      if (!record.declaration) throw new Error('not declared');
      const section = { ...record.declaration, withdrawn: true };
      const event = draft(tokenWithdrawn, record, { reason: 'Deleted', message: 'm', section });
      await world.approverLog.append([event], { correlation: 'test' });
    };
    expect(await outcome(asked, slowApprover(withdraw))).toEqual(heldFor('NoRuleMatched'));
  });

  test('a held request stays held when the only policy is deleted', async () => {
    await declare('a', 'token.valid', 'Hold');
    const asked = await ask();
    await judged(asked);
    await remove('a');
    await judgeHeldRequests(anApprover());
    const { decision } = await world.cluster(asked.clusterId);
    expect(decision).toMatchObject({ verdict: 'held', reason: 'NoRuleMatched' });
  });
});

describe('what the agent says of itself is never more than a claim', () => {
  const approveProd = 'request.labels.?env.orValue("") == "prod"';

  test.each([
    { name: 'labels that its token does not allow', labels: { env: 'prod' }, allowLabels: ['team'] },
    {
      name: 'a label key that only begins like an allowed one',
      labels: { env: 'prod' },
      allowLabels: ['en'],
    },
    {
      name: 'the key in other letters',
      labels: { ENV: 'prod', 'env ': 'prod', '\u0435nv': 'prod' },
      allowLabels: ['*'],
    },
  ])('$name', async ({ labels, allowLabels }) => {
    await declare('a', approveProd);
    const asked = await ask({ labels }, { allowLabels });
    expect(await outcome(asked)).toEqual(heldFor('NoRuleMatched'));
  });

  test.each([
    'rollcall.dev/cluster-set',
    'rollcall.dev/cluster-id',
    'x.rollcall.dev/cluster-set',
    'kubernetes.io/metadata.name',
    'node.kubernetes.io/role',
    'app.k8s.io/name',
    'constructor ',
  ])('the label %s becomes none of the cluster, whatever the token allows', async (key) => {
    await declare('a', 'token.valid');
    const labels = JSON.parse(`{"${key}":"red","team":"a"}`);
    const { decision, identity } = await judged(await ask({ labels }, { allowLabels: ['*'] }));
    expect(decision).toMatchObject({ verdict: 'approved', labels: { team: 'a' } });
    expect(Object.keys(decision?.labels ?? {})).toEqual(['team']);
    expect(decision?.clusterSet).toBeUndefined();
    expect(Object.keys(identity?.request.labels ?? {})).toEqual(['team']);
  });

  test('a label that would be the prototype of its map is refused unread', async () => {
    await declare('a', 'token.valid');
    const { events } = await world.eventsDuring(() =>
      expect(ask({ labels: JSON.parse('{"__proto__":"prod"}') })).rejects.toThrow('REQUEST_INVALID'),
    );
    expect(events).toEqual(['token.declared']);
  });

  test('names of every object are keys like any other, and found only where they were said', async () => {
    await declare(
      'a',
      'has(claimed.labels.toString) || has(request.labels.constructor) || has(claimed.labels.__proto__)',
    );
    const asked = await ask({ labels: { env: 'prod' } }, { allowLabels: ['*'] });
    expect(await outcome(asked)).toEqual(heldFor('NoRuleMatched'));
  });

  test('facts with names that our own fields have change none of them', async () => {
    await declare('a', 'token.unlimited || token.?clusterSet.orValue("") != "" || verified.sameMember');
    const forged = {
      token: 'unlimited',
      verified: 'true',
      sameMember: 'true',
      clusterSet: 'red',
      valid: 'true',
    };
    const asked = await ask({ labels: forged }, { allowLabels: ['*'] });
    expect(await outcome(asked)).toEqual(heldFor('NoRuleMatched'));
  });
});

describe('an expression reaches nothing of the host', () => {
  test.each([
    'token.constructor.constructor("return process")() != null',
    'request.labels.constructor("x") == "x"',
    'claimed.__proto__ == null',
    'request["constructor"] != null',
    'process.env.HOME != ""',
    'globalThis != null',
    'require("fs") != null',
    'this != null',
    '"a".constructor == "a"',
    'type(token).constructor("return 1")() == 1',
    '[1].map(x, x.constructor) == []',
    'fetch("http://127.0.0.1") != null',
    'token.valid.__defineGetter__("x", true)',
  ])('%s', async (when) => {
    const evaluation = await evaluator.evaluate({
      policies: [{ name: 'p', version: when, rules: [{ name: 'r', when }] }],
      input: JSON.stringify({ token: { valid: true }, request: { labels: {} }, claimed: { labels: {} } }),
    });
    // Not even where somebody got it past the check that refuses it beforehand.
    expect(evaluation).toMatchObject({
      kind: 'evaluated',
      answer: { matches: [], failures: [{ policy: 'p' }] },
    });
    const refused = policyProblem([{ name: 'r', when, effect: 'Approve' }]);
    await declare('a', when);
    const asked = await ask();
    expect(await outcome(asked)).toEqual(heldFor('PolicyError'));
    expect(refused === undefined || refused.message.length > 0).toBe(true);
  });
});

describe('what one request costs, no other one pays', () => {
  test('an expression that explodes holds its own request; those that come with it are judged', async () => {
    await declare('a', 'token.valid');
    await declare('b', slowForLongNames, 'Deny');
    const bad = await ask({ clusterName: `${'a'.repeat(40)}3` });
    const good = await Promise.all(Array.from({ length: 5 }, () => ask()));
    const parts = anApprover();
    const [badOutcome, ...others] = await Promise.all([bad, ...good].map((asked) => judged(asked, parts)));
    expect(badOutcome?.decision).toMatchObject({ verdict: 'held', reason: 'PolicyTimeout' });
    expect(others.map(({ decision }) => decision?.verdict)).toEqual(Array(5).fill('approved'));
  });

  test('an expression that fills the memory is a hold, and the next request has another worker', async () => {
    const list = `[${'0,'.repeat(200)}0]`;
    const copies = 'request.clusterName + '.repeat(200);
    const hungry = `${list}.map(a, ${list}.map(b, (${copies}"").split(""))).size() == 1`;
    await declare('a', `request.clusterName == "hungry" && ${hungry}`);
    await declare('b', 'request.clusterName != "hungry"');
    const parts = anApprover();
    expect(await outcome(await ask({ clusterName: 'hungry' }), parts)).toEqual(heldFor('PolicyTimeout'));
    expect((await judged(await ask(), parts)).decision?.verdict).toBe('approved');
  });
});

test('trying, explaining and checking a policy writes nothing', async () => {
  await declare('a', 'token.valid');
  const { clusterId } = await ask();
  await judged({ clusterId, tokenId: '' });
  await expect.poll(async () => (await world.cluster(clusterId)).identity?.state).toBe('admitted');
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-policy-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [caFile, policyFile] = [join(folder, 'ca.pem'), join(folder, 'policy.yaml')];
  writeFileSync(caFile, world.hub.address.caPem);
  const rules = '[{name: r, when: "true", effect: Deny}]';
  const head = 'apiVersion: rollcall.dev/v1alpha1\nkind: ApprovalPolicy\nmetadata: {name: a}';
  writeFileSync(policyFile, `${head}\nspec: {rules: ${rules}}\n`);
  const creds = join(world.hub.stateDir, 'inspector.creds');
  const bus = ['--server', `127.0.0.1:${world.hub.port}`, '--ca-file', caFile, '--creds', creds];
  const { result, events } = await world.eventsDuring(async () => [
    await runCli(['policy', 'try', policyFile, '--since', '1h', ...bus]),
    await runCli(['policy', 'explain', clusterId, ...bus]),
    await runCli(['policy', 'check', policyFile]),
  ]);
  expect(result.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(result[0]?.stdout).toContain('denied');
  expect(events).toEqual([]);
  expect((await world.cluster(clusterId)).decision?.verdict).toBe('approved');
});

test('a quota is not exceeded by thirty requests at once that three replicas judge', async () => {
  await declare('quota', 'fleet.byPolicyToday["quota"] < 4');
  const logs = await Promise.all([1, 2, 3].map(() => world.hub.openLog('approver')));
  const replicas = logs.map((log) => anApprover({ log }));
  const asked = await Promise.all(Array.from({ length: 30 }, () => ask()));
  const records = await Promise.all(asked.map((one, at) => judged(one, replicas[at % replicas.length])));
  const verdicts = records.map(({ decision }) => decision?.verdict);
  expect(verdicts.filter((verdict) => verdict === 'approved')).toHaveLength(4);
  expect(verdicts.filter((verdict) => verdict === 'held')).toHaveLength(26);
});

test('another key of an approved cluster is let in by no policy that does not speak of it', async () => {
  await declare('a', 'true');
  const token = await declareToken(world.approverLog, world.hub.hub.hubId, { uses: 'unlimited' });
  const body = aJoin(token);
  const keys = [createNkey('user'), createNkey('user')];
  for (const key of keys) {
    await using agent = await connectWithToken(world.hub, token, { key });
    expect(outcomeOf(await askToJoin(agent, token, body))).toBe('waiting');
    await judged({ clusterId: body.clusterId, tokenId: '' });
  }
  expect((await world.cluster(body.clusterId)).decision).toMatchObject({
    verdict: 'held',
    reason: 'KeyChanged',
    approvedKey: keys[0]?.publicKey,
  });
});
