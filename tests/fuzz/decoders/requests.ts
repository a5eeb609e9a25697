import { decodeEvent, encodeEvent, isSafeId, type EventDraft } from '@rollcall/shared/events';
import { factsSchema } from '@rollcall/shared/bus';
import {
  type Reply,
  decodeReply,
  decodeRequest,
  decodeMintReply,
  encodeMintReply,
  linkReplyKeys,
  type ReceivedRequest,
} from '@rollcall/shared/protocol';
import { createCa, isSignedBy, signMessage } from '@rollcall/shared/trust';
import { readAttempt, refuseShape } from '../../../services/registrar/join/join-attempt.ts';
import { judgeJoin } from '../../../services/registrar/join/judge-join.ts';
import { judgeMemberProof } from '../../../services/registrar/members/member-proof.ts';
import { MemoryLog } from '../../../services/registrar/tests/memory-log.ts';
import { aDeclaration } from '../../harness/events.ts';
import { fixedKey } from '../fixed-keys.ts';
import { bytesOf, following, type FuzzedDecoder, jsonBytes, must, textOf } from '../fuzzed-decoder.ts';

const nowMs = 1_700_000_000_000;
const agent = fixedKey('user', 'agent');
const token = fixedKey('user', 'token');
const hubId = '0123456789abcdef';

const facts = {
  kubernetesVersion: 'v1.36.3',
  platform: 'linux/amd64',
  apiServerURL: 'https://10.0.0.1:6443',
  readyz: true,
  nodes: { total: 3, ready: 3, schedulable: 2, sample: 'node-1' },
  capacity: { cpu: '12', memory: '24Gi' },
  podCIDRs: ['10.1.0.0/16'],
  claims: [{ name: 'region', value: 'eu' }],
};
const common = {
  v: 1,
  hub: hubId,
  id: 'ask-00000001',
  atMs: nowMs,
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
};
const member = { token: 'e30.e30.AA', keys: [{ kid: 'one', kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }] };
const join = {
  clusterId: 'id-1',
  clusterName: 'one',
  clusterType: 'Edge',
  tokenKey: token.publicKey,
  labels: { env: 'prod', 'example.com/team': 'a' },
  member,
  facts,
};

/** An agent that holds a good token signs whatever it likes; the subject is the server's word. */
function signedByAgent(body: Uint8Array): Uint8Array {
  const signed = textOf(body);
  const signatures = { [agent.publicKey]: agent.sign(signed), [token.publicKey]: token.sign(signed) };
  return jsonBytes({ signed, signatures });
}

/** What the registrar would write must be events that everybody can read again. */
function writesGoodEvents(drafts: readonly EventDraft[]): void {
  for (const one of drafts) {
    const stamp = { epoch: 1, source: '/rollcall/registrar', nowMs, correlation: 'ask-00000001' };
    const { subject, headers, body } = encodeEvent(one, stamp);
    must(
      subject.split('.').length === 5 && !/[*>\s]/.test(subject),
      `the subject ${JSON.stringify(subject)} is one of an event`,
    );
    decodeEvent({ subject, sequence: 1, header: (name) => headers[name] ?? '', data: body });
  }
}

/** As join/joining.ts does it, on a hub that has only the token. */
function followJoin({ request, agentKey, envelope }: ReceivedRequest): void {
  if (request.verb !== 'join' || refuseShape(request.body)) return;
  const { clusterId, clusterName } = request.body;
  must(
    isSafeId(clusterId) && isSafeId(clusterName),
    'an id and a name that are no subject tokens are refused',
  );
  const attempt = readAttempt({ agentKey, envelope }, request, undefined);
  const log = new MemoryLog();
  const { tokenId = 'none' } = attempt;
  const context = log.joinContext({ clusterId, clusterName, tokenId, agentKey, nowMs });
  const declaration = aDeclaration({ publicKey: token.publicKey, uses: 'unlimited', allowLabels: ['*'] });
  const verdict = judgeJoin(attempt, {
    ...context,
    token: attempt.tokenId !== undefined && context.token ? { ...context.token, declaration } : undefined,
    member: judgeMemberProof(request.body.member, undefined, { hubId, agentKey, nowMs }),
  });
  writesGoodEvents(verdict.drafts);
}

const request: FuzzedDecoder = {
  name: 'request',
  form: 'json',
  samples: [
    { ...common, verb: 'join', body: join },
    { ...common, verb: 'join', body: { clusterId: 'id-2', clientId: 'id-2', clusterName: 'two', facts: {} } },
    { ...common, verb: 'renew', body: { clusterId: 'id-1', member } },
    { ...common, verb: 'facts', body: { clusterId: 'id-1', facts } },
    { ...common, verb: 'access', body: { clusterId: 'id-1', sealTo: `X${'A'.repeat(55)}` } },
    { ...common, verb: 'leave', body: { clusterId: 'id-1', done: false } },
  ].map(jsonBytes),
  seal: signedByAgent,
  decode(input) {
    // The server lets each verb through on its own subject: the one that is asked for is tried first.
    const verb = /\\?"verb\\?":\\?"(join|renew|facts|access|leave)/.exec(textOf(input))?.[1] ?? 'join';
    const received = decodeRequest(`rollcall.request.${agent.publicKey}.${verb}`, input);
    must(isSignedBy(received.envelope, agent.publicKey), 'who sends it has signed it');
    following('a join that was taken', () => followJoin(received));
    return 'taken';
  },
};

const requestSubject: FuzzedDecoder = {
  name: 'request-subject',
  form: 'text',
  words: ['rollcall', 'request', 'join', 'leave', agent.publicKey, token.publicKey, '.', '*', '>'],
  samples: [bytesOf(`rollcall.request.${agent.publicKey}.join`)],
  decode(input) {
    const data = signedByAgent(jsonBytes({ ...common, verb: 'join', body: join }));
    const { agentKey } = decodeRequest(textOf(input), data);
    must([agent.publicKey, token.publicKey].includes(agentKey), 'only who signed it is its sender');
    return 'taken';
  },
};

const factsDecoder: FuzzedDecoder = {
  name: 'facts',
  form: 'json',
  samples: [jsonBytes(facts), jsonBytes({})],
  decode(input) {
    let value: unknown;
    try {
      value = JSON.parse(textOf(input));
    } catch {
      return 'refused';
    }
    const parsed = factsSchema.safeParse(value);
    if (!parsed.success) return 'refused';
    must(
      factsSchema.safeParse(JSON.parse(JSON.stringify(parsed.data))).success,
      'facts that were taken are taken again',
    );
    return 'taken';
  },
};

const replyKey = fixedKey('account', 'reply');
const nextKey = fixedKey('account', 'next reply');
const stranger = fixedKey('account', 'stranger');
const aReply = (result: object): Reply =>
  ({ v: 1, hub: hubId, to: agent.publicKey, inReplyTo: 'ask-00000001', atMs: nowMs, result }) as Reply;
const [ca, caOfThief] = ['hub', 'thief'].map((commonName) =>
  createCa({ commonName, validForDays: 1, nowMs }),
);
const linkTo = (nextReplyKey: string, caKeyPem = '') =>
  linkReplyKeys({ hub: hubId, replyKey, nextReplyKey, atMs: nowMs }, caKeyPem);
/** The very texts that the hub has signed; an agent that takes another one believes somebody else. */
const saidByHub = new Set<string>();

function signedByHub(result: object, key = replyKey, chain = {}): Uint8Array {
  const message = signMessage(aReply(result), [key]);
  saidByHub.add(message.signed);
  return jsonBytes({ ...message, ...chain });
}

const reply: FuzzedDecoder = {
  name: 'reply',
  form: 'json',
  samples: [
    signedByHub({ kind: 'waiting', clusterId: 'id-1', reason: 'Held', message: 'wait', retryAfterMs: 1000 }),
    signedByHub({ kind: 'done' }, nextKey, { chain: [linkTo(nextKey.publicKey, ca?.privateKeyPem)] }),
    signedByHub({ kind: 'refused', code: 'TOKEN_EXPIRED', message: 'm', hint: 'h', retryAfterMs: 1000 }),
    // Not the hub's: signed well, by whoever it was.
    jsonBytes(
      signMessage(aReply({ kind: 'leave', clusterId: 'id-1', reason: 'R', message: 'm' }), [stranger]),
    ),
    jsonBytes({
      ...signMessage(aReply({ kind: 'done' }), [stranger]),
      chain: [signMessage({ v: 1, hub: hubId, nextReplyKey: stranger.publicKey, atMs: nowMs }, [stranger])],
    }),
    // By who has stolen the reply key.
    jsonBytes({
      ...signMessage(aReply({ kind: 'done' }), [stranger]),
      chain: [linkTo(stranger.publicKey, caOfThief?.privateKeyPem)],
    }),
  ],
  decode(input) {
    const decoded = decodeReply(input, {
      agentKey: agent.publicKey,
      replyKeyIsTrusted: (key) => key === replyKey.publicKey,
      caPem: ca?.certificatePem,
    });
    if (!decoded) return 'refused';
    must(decoded.replyKey !== stranger.publicKey, 'a stranger is not believed');
    must(saidByHub.has((JSON.parse(textOf(input)) as { signed: string }).signed), 'only the hub is believed');
    return 'taken';
  },
};

const mintReply: FuzzedDecoder = {
  name: 'access',
  form: 'json',
  samples: [
    bytesOf(encodeMintReply({ kind: 'sealed', by: `X${'A'.repeat(55)}`, box: 'AAAA' })),
    bytesOf(encodeMintReply({ kind: 'none' })),
    bytesOf(encodeMintReply({ kind: 'refused', code: 'HUB_BUSY', message: 'busy' })),
  ],
  decode: (input) => (decodeMintReply(textOf(input)) ? 'taken' : 'refused'),
};

/** What agents and hub say to each other. */
export const requestDecoders: readonly FuzzedDecoder[] = [
  request,
  requestSubject,
  factsDecoder,
  reply,
  mintReply,
];
