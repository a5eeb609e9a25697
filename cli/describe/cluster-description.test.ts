import {
  approved,
  held,
  joined,
  predefined,
  provisioningFailed,
  refused,
  requested,
  type StoredEvent,
} from '@rollcall/shared/events';
import { createNkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { aDecision } from '../../tests/harness/events.ts';
import { type ClusterSources, describeSources } from './cluster-description.ts';
import { descriptionText } from './description-text.ts';
import { nextSteps } from './next-steps.ts';

const key = createNkey('user').publicKey;

const anIdentity = (change: object = {}) => ({
  state: 'requested',
  clusterId: 'c1',
  clusterName: 'edge-1',
  clusterType: 'Standard',
  mode: 'Pull',
  request: {
    id: 'ask-1',
    key,
    keyFingerprint: 'aaaa-bbbb',
    tokenId: 't',
    tokenName: 'rollcall-join/first',
    labels: {},
    droppedLabels: ['team'],
    claimed: { labels: {} },
    requestedAtMs: 1000,
  },
  ...change,
});

let sequence = 0;
const anEvent = (definition: StoredEvent['definition'], section: object): StoredEvent => ({
  kind: 'cluster',
  id: 'c1',
  type: definition.type,
  definition,
  eventId: 'e',
  sequence: ++sequence,
  timeMs: 1000,
  source: '/rollcall/test',
  traceparent: undefined,
  digest: 'sha256:00',
  epoch: 1,
  previous: undefined,
  correlation: 'ask-1',
  by: undefined,
  reason: 'Test',
  message: 'x\u001b[2Jy',
  section,
});

const described = (events: readonly StoredEvent[], change: Partial<ClusterSources> = {}) =>
  describeSources({
    clusterId: 'c1',
    cluster: undefined,
    request: undefined,
    events,
    facts: undefined,
    attempts: [],
    missing: [],
    ...change,
  });

const other = createNkey('user').publicKey;
const asked = () => anEvent(requested, anIdentity());
const decided = (definition: typeof held, change: object) =>
  anEvent(definition, aDecision({ requestId: 'ask-1', key, clusterName: 'edge-1', ...change }));
const letIn = () => decided(approved, { verdict: 'approved', approvedKey: key });
const admitted = () => anIdentity({ state: 'admitted', admittedKey: key, admittedAtMs: 2000 });
const alive = (state: string) => ({
  state,
  key,
  cause: 'Alive',
  joinedAtMs: 3000,
  sinceMs: 3000,
  lastHeartbeatAtMs: 3000,
});

test.each([
  {
    name: 'a request that nobody has judged',
    events: () => [asked()],
    phase: 'waiting',
    next: /rollcall status/,
  },
  {
    name: 'one that was refused',
    events: () => [
      anEvent(refused, anIdentity({ state: 'refused', refusal: { code: 'NAME_TAKEN', message: 'm' } })),
    ],
    phase: 'refused',
    next: /another name/,
  },
  {
    name: 'one that a person must decide',
    events: () => [asked(), decided(held, { verdict: 'held' })],
    phase: 'held',
    next: /rollcall approve edge-1/,
  },
  {
    name: 'one that is let in and has not sent a heartbeat',
    events: () => [asked(), letIn()],
    phase: 'approved',
    next: /log of the agent/,
  },
  {
    name: 'one that is alive',
    events: () => [anEvent(requested, admitted()), letIn(), anEvent(joined, alive('ready'))],
    phase: 'ready',
    next: /^Nothing/,
  },
  {
    name: "one whose member's API server does not answer",
    events: () => [
      anEvent(requested, admitted()),
      letIn(),
      anEvent(joined, { ...alive('ready'), cause: 'MemberAPIDown' }),
    ],
    phase: 'memberDown',
    next: /API server of its member/,
  },
  {
    name: 'one that comes and goes',
    events: () => [
      anEvent(requested, admitted()),
      letIn(),
      anEvent(joined, { ...alive('ready'), cause: 'Flapping' }),
    ],
    phase: 'flapping',
    next: /network between/,
  },
  {
    name: 'a member while another key was denied',
    events: () => [
      anEvent(requested, admitted()),
      letIn(),
      anEvent(joined, alive('ready')),
      anEvent(requested, {
        ...admitted(),
        request: { ...anIdentity().request, id: 'ask-2', key: other, keyFingerprint: 'of-other' },
      }),
      decided(held, { verdict: 'denied', requestId: 'ask-2', key: other, approvedKey: key }),
    ],
    phase: 'ready',
    next: /^Another key \(of-other\) asked for this cluster and was denied/,
  },
  {
    name: 'one that is let in again and has not sent a heartbeat since',
    events: () => [
      anEvent(requested, admitted()),
      letIn(),
      anEvent(joined, { ...alive('ready'), joinedAtMs: 1999 }),
    ],
    phase: 'approved',
    next: /log of the agent/,
  },
  {
    name: 'one that is gone',
    events: () => [anEvent(requested, admitted()), letIn(), anEvent(joined, alive('unreachable'))],
    phase: 'unreachable',
    next: /rollcall doctor/,
  },
  {
    name: 'one that a person predefined, and that somebody tried to bind to',
    events: () => [
      decided(predefined, { verdict: 'predefined', requestId: undefined }),
      anEvent(
        refused,
        anIdentity({ state: 'refused', refusal: { code: 'PREDEFINED_BINDING', message: 'm' } }),
      ),
    ],
    phase: 'predefined',
    next: /was refused[^]*Use a token that names this cluster[^]*rollcall token create/,
  },
  {
    name: 'a new request after a decision about an old one',
    events: () => [asked(), decided(held, { verdict: 'denied', requestId: 'ask-0' })],
    phase: 'waiting',
    next: /rollcall status/,
  },
])('$name: $phase', ({ events, phase, next }) => {
  const description = described(events());
  expect(description.phase).toBe(phase);
  expect(nextSteps(description).join('\n')).toMatch(next);
});

test('what could not be provisioned comes with the hint of its error', () => {
  const failed = {
    state: 'failed',
    namespace: 'edge-1',
    atMs: 1,
    error: { code: 'NAMESPACE_TAKEN', message: 'm' },
  };
  const description = described([asked(), letIn(), anEvent(provisioningFailed, failed)]);
  expect(description.namespace?.problem).toBe('NAMESPACE_TAKEN: m');
  expect(nextSteps(description)[0]).toContain('rename the cluster');
});

test('who asked for the name of a predefined cluster in vain is told', () => {
  const attempts = [
    {
      metadata: { name: 'other-id' },
      spec: { clusterName: 'edge-1' },
      status: { result: 'Failed', reason: 'NameTaken', message: 'it is taken' },
    },
  ] as unknown as ClusterSources['attempts'];
  const events = [decided(predefined, { verdict: 'predefined', requestId: undefined })];
  const text = descriptionText(described(events, { attempts }), { all: false });
  expect(text).toMatch(/^Refused for its name:\n {2}other-id NameTaken: it is taken$/m);
  expect(text).toMatch(/^ {2}Verdict: +predefined$/m);
});

test("an object whose id is another cluster's is not described as that one", () => {
  const cluster = {
    metadata: { name: 'edge-2' },
    spec: { clientId: 'c1' },
    status: {
      conditions: [{ type: 'Accepted', status: 'False', reason: 'IdTaken', message: 'the id is taken' }],
    },
  } as unknown as NonNullable<ClusterSources['cluster']>;
  const description = described([asked(), letIn()], { cluster });
  expect(description).toMatchObject({ clusterName: 'edge-2', phase: 'without effect', timeline: [] });
  expect(nextSteps(description)[0]).toBe('Another cluster is in its way: the id is taken.');
});

test('of a predefined cluster the id counts that was declared, whatever stands in its object since', () => {
  const cluster = {
    metadata: { name: 'edge-1' },
    spec: { clusterId: 'c1', clientId: 'Shop 8' },
    status: {
      conditions: [
        { type: 'Accepted', status: 'False', reason: 'IdMismatch', message: 'give one of the two' },
      ],
    },
  } as unknown as NonNullable<ClusterSources['cluster']>;
  const declared = { clusterType: 'Standard', mode: 'Pull' } as const;
  const events = [decided(predefined, { verdict: 'predefined', requestId: undefined, predefined: declared })];
  const steps = nextSteps(described(events, { cluster }));
  expect(steps).toEqual([
    'What is changed in its object counts for nothing: give one of the two.',
    expect.stringContaining('--cluster-name edge-1'),
  ]);
});

test('a condition is one line, whatever a stolen projector writes into it', () => {
  const lastTransitionTime = 'x\u001b[2J\nNext:\n  - paste this';
  const cluster = {
    metadata: { name: 'edge-1' },
    status: {
      conditions: [{ type: 'Ready', status: 'True', reason: 'R', lastTransitionTime, message: 'm' }],
    },
  } as unknown as NonNullable<ClusterSources['cluster']>;
  const text = descriptionText(described([asked(), letIn()], { cluster }), { all: false });
  expect(text).toMatch(/^ {2}Ready .* x\[2J Next: - paste this +m$/m);
});

test('a key in use twice is said, although the cluster is alive', () => {
  const cluster = {
    metadata: { name: 'edge-1' },
    status: {
      conditions: [{ type: 'CredentialsValid', status: 'False', reason: 'KeyInUseTwice', message: 'm' }],
    },
  } as unknown as NonNullable<ClusterSources['cluster']>;
  const events = [anEvent(requested, admitted()), letIn(), anEvent(joined, alive('ready'))];
  expect(nextSteps(described(events, { cluster }))[0]).toMatch(/^Two agents use its key/);
});

test('only the projection in Kubernetes is at hand', () => {
  const request = {
    metadata: { name: 'c1' },
    spec: { clusterId: 'c1', clusterName: 'edge-1' },
    status: { result: 'Held' },
  } as NonNullable<ClusterSources['request']>;
  const missing = [{ source: 'history', why: 'may not' }] as const;
  const description = described([], { request, missing });
  expect(description).toMatchObject({ clusterName: 'edge-1', phase: 'held' });
  expect(descriptionText(description, { all: false })).toMatch(/^Not known:\n {2}history: may not$/m);
});

test.each([
  { result: 'Denied', reason: 'PersonDenied', want: 'denied', next: '`rollcall approve edge-1`' },
  { result: 'Denied', reason: 'PersonBanned', want: 'banned', next: '`rollcall unban edge-1`' },
  { result: 'Denied', reason: 'Banned', want: 'banned', next: '`rollcall unban edge-1`' },
  {
    result: 'Denied',
    reason: 'RestoredFromProjection',
    operation: 'Ban',
    want: 'banned',
    next: '`rollcall unban edge-1`',
  },
  {
    result: 'Denied',
    reason: 'PersonRevoked',
    want: 'revoked',
    next: 'with a new key; `rollcall approve edge-1`',
  },
  {
    result: 'Denied',
    reason: 'Flooding',
    want: 'revoked',
    next: 'with a new key; `rollcall approve edge-1`',
  },
  { result: 'Failed', reason: 'NamespaceTaken', want: 'failed', next: 'NamespaceTaken: what to do' },
  { result: 'Failed', reason: 'NamespaceTaken', want: 'failed', next: '`rollcall get requests c1 -o yaml`' },
])('without the history, $result ($reason) is $want: $next', ({ result, reason, operation, want, next }) => {
  const request = {
    metadata: { name: 'c1' },
    spec: { clusterId: 'c1', clusterName: 'edge-1' },
    status: { result, reason, message: 'what to do' },
  } as unknown as NonNullable<ClusterSources['request']>;
  const cluster = {
    metadata: { name: 'edge-1' },
    spec: { clusterId: 'c1', ...(operation === undefined ? {} : { operation: { verb: operation } }) },
    status: { conditions: [{ type: 'Accepted', status: 'False', reason, message: '' }] },
  } as unknown as NonNullable<ClusterSources['cluster']>;
  const missing = [{ source: 'history', why: 'may not' }] as const;
  const description = described([], { request, cluster, missing });
  expect(description.phase).toBe(want);
  const steps = nextSteps(description).join('\n');
  expect(steps).toContain(next);
  // The bus is what cannot be read.
  expect(steps).not.toContain('rollcall events');
});

test('what others wrote cannot move the cursor, and a long timeline is cut', () => {
  const text = descriptionText(described(Array.from({ length: 40 }, asked)), { all: false });
  expect(text).not.toContain('\u001b');
  expect(text).toMatch(/\(10 earlier; --all shows them\)/);
  expect(text).toMatch(/Labels refused: +team/);
});

test('a Ready cluster whose history cannot be read is not said to be silent', () => {
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'Alive', message: '', lastTransitionTime: '' },
  ];
  const description = describeSources({
    clusterId: 'c1',
    cluster: {
      metadata: { name: 'edge-1' },
      spec: {},
      status: { conditions },
    } as unknown as ClusterSources['cluster'],
    request: { status: { result: 'Approved' } } as unknown as ClusterSources['request'],
    events: [],
    facts: undefined,
    attempts: [],
    missing: [{ source: 'history', why: 'cannot connect' }],
  });
  expect(description.phase).toBe('ready');
  expect(nextSteps(description).join()).not.toContain('has not sent a heartbeat');
});

test('a client id stands in the command that is pasted as it is, blanks and all', () => {
  const clientId = 'shop  7';
  const section = aDecision({
    verdict: 'predefined',
    clusterName: 'edge-1',
    predefined: { clientId, clusterType: 'Standard', mode: 'Pull' },
  });
  const text = descriptionText(described([anEvent(predefined, section)]), { all: false });
  expect(text).toContain(`rollcall token create --client-id '${clientId}' --print-register-command`);
});
