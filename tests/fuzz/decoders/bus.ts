import { heartbeatFlagsOf, heartbeatAgentTimeMs, encodeHeartbeat } from '@rollcall/shared/bus';
import {
  aggregateSubjects,
  clusterRecord,
  decodeEvent,
  foldRecord,
  isSafeId,
  nameRecord,
  parseEventSubject,
  tokenRecord,
} from '@rollcall/shared/events';
import {
  agentsAccountClaims,
  agentRoles,
  type AgentSigners,
  type HubKeys,
  roleAccounts,
} from '@rollcall/shared/rights';
import { traceIdOf } from '@rollcall/shared/tracing';
import { createXkey } from '@rollcall/shared/trust';
import { parseLive } from '../../../cli/events/show-events.ts';
import { memberOfNotice } from '../../../services/heartbeat/connections/connection-notice.ts';
import { idStart } from '../../../services/heartbeat/receive/heartbeat-subject.ts';
import { aMember, clusterEvents } from '../../../services/projector/tests/cluster-record.builder.ts';
import { decodeCalloutRequest } from '../../../services/registrar/callout/callout-request.ts';
import { expectedAccount, readAccountClaims } from '../../../services/account-controller/account-claims.ts';
import { fixedKey, signedJwt } from '../fixed-keys.ts';
import { bytesOf, following, type FuzzedDecoder, jsonBytes, must, textOf } from '../fuzzed-decoder.ts';

/** One event as a text: subject, headers, an empty line, body. */
function eventText(event: ReturnType<typeof clusterEvents>[number]): Uint8Array {
  const {
    kind,
    id,
    type,
    eventId,
    timeMs,
    source,
    definition,
    epoch,
    correlation,
    reason,
    message,
    section,
  } = event;
  const headers = {
    'ce-id': eventId,
    'ce-source': source,
    'ce-type': `dev.rollcall.${kind}.${type}.v${definition.version}`,
    'ce-time': new Date(timeMs).toISOString(),
  };
  const body = JSON.stringify({ epoch, correlation, reason, message, section });
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return bytesOf([`rollcall.events.${kind}.${id}.${type}`, ...head, '', body].join('\n'));
}

const event: FuzzedDecoder = {
  name: 'event',
  form: 'json',
  samples: clusterEvents(aMember()).map(eventText),
  // A service may send what the server takes.
  maxBytes: 1_048_576,
  decode(input) {
    const text = textOf(input);
    const [head = '', ...rest] = text.split('\n\n');
    const [subject = '', ...lines] = head.split('\n');
    const headers = new Map(lines.map((line) => line.split(': ', 2) as [string, string]));
    const decoded = decodeEvent({
      subject,
      sequence: 7,
      header: (name) => headers.get(name) ?? '',
      data: bytesOf(rest.join('\n\n')),
    });
    following('an event that was taken', () => {
      const record = foldRecord(decoded, [decoded]);
      const { decision, identity } = clusterRecord(record);
      must(record.head?.sequence === 7, 'the head is where the event stands');
      JSON.stringify(decoded.section);
      tokenRecord(record);
      nameRecord(record);
      if (decoded.kind === 'cluster' && decision)
        must(Array.isArray(decision.revokedKeys ?? []), 'a section fits');
      if (decoded.kind === 'cluster' && identity)
        must(typeof identity.clusterId === 'string', 'a section fits');
    });
    return 'taken';
  },
};
/** JSON tokens of the whole text would drop the head, so it is changed as text. */
const eventHead: FuzzedDecoder = {
  ...event,
  name: 'event-head',
  form: 'text',
  words: [
    'rollcall',
    'events',
    'cluster',
    'token',
    'approved',
    'ce-type',
    'ce-id',
    'ce-time',
    ': ',
    '\n',
    '.v2',
  ],
};
const eventBody: FuzzedDecoder = {
  ...event,
  samples: event.samples.map((sample) => bytesOf(textOf(sample).split('\n\n')[1] ?? '')),
  seal(body) {
    const text = textOf(body);
    const type = /"verdict"/.test(text)
      ? 1
      : /"namespace"/.test(text)
        ? 2
        : /"joinedAtMs"/.test(text)
          ? 3
          : 0;
    const [head = ''] = textOf(event.samples[type] ?? bytesOf('')).split('\n\n');
    return bytesOf(`${head}\n\n${text}`);
  },
};

const subject: FuzzedDecoder = {
  name: 'subject',
  form: 'text',
  words: ['rollcall', 'events', 'cluster', 'token', 'name', 'approved', '.', '*', '>', ' '],
  samples: [bytesOf('rollcall.events.cluster.id-1.approved'), bytesOf('rollcall.events.name.one.taken')],
  decode(input) {
    const parsed = parseEventSubject(textOf(input));
    if (!parsed || !isSafeId(parsed.id)) return 'refused';
    const built = aggregateSubjects(parsed, 'approved').subject.split('.');
    must(
      built.length === 5 && built.every((part) => /^[a-z0-9-]+$/.test(part)),
      'a subject has five plain tokens',
    );
    return 'taken';
  },
};

const heartbeat: FuzzedDecoder = {
  name: 'heartbeat',
  form: 'bytes',
  samples: [
    encodeHeartbeat({ flags: 0, agentTimeMs: 1_700_000_000_000 }),
    encodeHeartbeat({ flags: 3, agentTimeMs: 0 }),
  ],
  decode(input) {
    must(idStart(input) <= input.length, 'an id begins within the subject');
    if (heartbeatFlagsOf(input) < 0) return 'refused';
    must(Number.isSafeInteger(heartbeatAgentTimeMs(input)), 'the time of a heartbeat is a number');
    return 'taken';
  },
};

const memberKey = fixedKey('user', 'member');
const memberJwt = textOf(
  signedJwt(fixedKey('account', 'signer'))(jsonBytes({ sub: memberKey.publicKey, name: 'id-1', nats: {} })),
);
const noticeOf = (client: object) => ({ server: { id: 'NSERVER', name: 'n' }, client });
const connectionNotice: FuzzedDecoder = {
  name: 'connection-notice',
  form: 'json',
  maxBytes: 1_048_576,
  samples: [
    jsonBytes(noticeOf({ id: 7, user: memberKey.publicKey, jwt: memberJwt, name: 'id-2' })),
    jsonBytes(noticeOf({ id: 8, user: 'other', jwt: 'a.e30.b' })),
  ],
  decode(input) {
    const found = memberOfNotice(textOf(input));
    if (!found) return 'refused';
    must(isSafeId(found.clusterId), 'the id of a cluster is safe');
    return 'taken';
  },
};

const server = fixedKey('server', 'server');
const calloutXkey = createXkey();
const serverXkey = createXkey();
const token = fixedKey('user', 'token');
const calloutNats = {
  server_id: { id: server.publicKey, xkey: serverXkey.publicKey, name: 'n' },
  user_nkey: fixedKey('user', 'connection').publicKey,
  client_info: { host: '10.0.0.1', nonce: 'nonce', id: 1 },
  connect_opts: { nkey: token.publicKey, sig: 'AA', user: memberKey.publicKey, pass: 'AA', name: 'id-1' },
  type: 'authorization_request',
};
const calloutRequest = { jti: 'j', iss: server.publicKey, sub: token.publicKey, iat: 1, nats: calloutNats };
const callout: FuzzedDecoder = {
  name: 'callout',
  form: 'json',
  samples: [
    jsonBytes(calloutRequest),
    jsonBytes({ ...calloutRequest, nats: { ...calloutNats, connect_opts: {} } }),
  ],
  seal: signedJwt(server),
  decode(input) {
    const request = decodeCalloutRequest(input, undefined, calloutXkey);
    if (!request) return 'refused';
    must(request.serverId === server.publicKey, 'the server that it names has signed it');
    for (const value of Object.values(request.claim))
      must(value === undefined || typeof value === 'string', 'what a client shows is text');
    return 'taken';
  },
};
const sealedCallout: FuzzedDecoder = {
  name: 'sealed-box',
  form: 'bytes',
  samples: [jsonBytes(calloutRequest), bytesOf('x')],
  seal: (body) => serverXkey.seal(body, calloutXkey.publicKey),
  decode: (input) => (calloutXkey.open(input, serverXkey.publicKey) ? 'taken' : 'refused'),
};

const accountKey = (name: string) => fixedKey('account', name).publicKey;
const keys: HubKeys = {
  sys: accountKey('sys'),
  auth: accountKey('auth'),
  agents: accountKey('agents'),
  hub: accountKey('hub'),
  hubSigner: accountKey('hubSigner'),
  roles: Object.fromEntries(roleAccounts.map((name) => [name, accountKey(name)])) as HubKeys['roles'],
  authSigner: accountKey('authSigner'),
  agentSigners: Object.fromEntries(
    Object.keys(agentRoles).map((role) => [role, accountKey(role)]),
  ) as AgentSigners,
  calloutUser: accountKey('calloutUser'),
  calloutXkey: accountKey('calloutXkey'),
};
const operator = fixedKey('operator', 'operator');
const accountClaims: FuzzedDecoder = {
  name: 'account-claims',
  form: 'json',
  maxBytes: 1_048_576,
  samples: [{}, { [memberKey.publicKey]: 1_700_000_000 }].map((revocations) =>
    jsonBytes({
      jti: 'j',
      iat: 1_700_000_000,
      iss: operator.publicKey,
      sub: keys.agents,
      name: 'AGENTS',
      nats: { ...agentsAccountClaims(keys, revocations), version: 2 },
    }),
  ),
  seal: signedJwt(operator),
  decode(input) {
    const { claims, revocations } = readAccountClaims(
      textOf(input),
      expectedAccount({ keys, agentsAccount: agentsAccountClaims(keys, {}), formerAgentSigners: [] }),
    );
    must(claims.sub === keys.agents, 'the account is ours');
    must(Number.isSafeInteger(claims.iat + 1), 'a newer version can be made');
    must(
      Object.values(revocations).every((time) => Number.isSafeInteger(time)),
      'a revocation has a time',
    );
    return 'taken';
  },
};

const live: FuzzedDecoder = {
  name: 'live',
  form: 'json',
  samples: [jsonBytes({ state: 'ready', reason: 'Alive', atMs: 1 })],
  decode: (input) => (parseLive('rollcall.live.id-1', input) ? 'taken' : 'refused'),
};

const traceparent: FuzzedDecoder = {
  name: 'traceparent',
  form: 'text',
  words: ['00', '-', '01', 'f'.repeat(32)],
  samples: [bytesOf(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`)],
  decode(input) {
    const traceId = traceIdOf(textOf(input));
    if (traceId === undefined) return 'refused';
    must(/^[0-9a-f]{32}$/.test(traceId), 'the id of a trace is hexadecimal');
    return 'taken';
  },
};

/** What comes over the bus from services and servers. */
export const busDecoders: readonly FuzzedDecoder[] = [
  eventBody,
  eventHead,
  subject,
  heartbeat,
  connectionNotice,
  callout,
  sealedCallout,
  accountClaims,
  live,
  traceparent,
];
