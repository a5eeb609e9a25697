import type { HeaderList } from './stream-head.ts';

/**
 * Of one hop of HTTP; `Connection` names more of them. A length is as well: the body goes in chunks to where the stream ends, and whoever
 * says a length that is not that of the body has the rest of it read as somebody else's request or answer, on a connection that many share.
 */
const ofTheHop = new Set([
  'content-length',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
]);

/** Who somebody is and may be is said by the hub's API server and by the member's owner, never by a header that comes along. */
const ofIdentity =
  /^(authorization|cookie|x-remote-.*|impersonate-.*|x-forwarded-.*|forwarded|via|audit-id)$/;

/** What the hub's API server says of its own answer as well, and would stand there twice. */
const ofTheAnswer = new Set(['audit-id', 'cache-control', 'set-cookie', 'www-authenticate', 'alt-svc']);

function passed(raw: HeaderList, isLeftOut: (name: string) => boolean): [string, string][] {
  const named = new Set<string>();
  for (const [name, value] of raw)
    if (name.toLowerCase() === 'connection')
      for (const one of value.toLowerCase().split(',')) named.add(one.trim());
  return raw.flatMap(([given, value]): [string, string][] => {
    const name = given.toLowerCase();
    return ofTheHop.has(name) || named.has(name) || isLeftOut(name) ? [] : [[given, value]];
  });
}

/** By a protocol of this name a WebSocket brings a bearer token along. */
const tokenProtocol = /^base64url\.bearer\.authorization\.k8s\.io\./i;

function withoutToken([name, value]: [string, string]): [string, string] {
  if (name.toLowerCase() !== 'sec-websocket-protocol') return [name, value];
  const protocols = value.split(',').map((protocol) => protocol.trim());
  return [name, protocols.filter((protocol) => !tokenProtocol.test(protocol)).join(', ')];
}

/** What of a person's request goes on to the member: nothing of the connection it came over, and nothing that says who it is. */
export const passedToMember = (raw: HeaderList): [string, string][] =>
  passed(raw, (name) => ofIdentity.test(name)).map(withoutToken);

/** What of the member's answer goes back. */
export const passedBack = (raw: HeaderList): [string, string][] =>
  passed(raw, (name) => ofTheAnswer.has(name));

/** Node's flat list of names and values in pairs. */
export function headerPairs(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : [],
  );
}
