import { eventCatalogue } from '@rollcall/shared/events';
import { agentRoles, hubDomain, otherRoles, type Role, serviceRoles } from '@rollcall/shared/rights';

/** The agent that asks, as `{{subject()}}` and `{{name()}}` say it, and somebody else. */
export interface WhoAsks {
  readonly key: string;
  readonly name: string;
  readonly otherKey: string;
  readonly otherName: string;
}

export const allRoles: Readonly<Record<string, Role>> = { ...agentRoles, ...serviceRoles, ...otherRoles };

/** A role's lists with the templates filled in for one agent. */
export function filledIn(list: readonly string[], { key, name }: Pick<WhoAsks, 'key' | 'name'>): string[] {
  return list.map((pattern) => pattern.replace('{{subject()}}', key).replace('{{name()}}', name));
}

const others = [
  '>',
  '*',
  '*.>',
  '*.*',
  'rollcall',
  'rollcall.events',
  'rollcall.nobody.else',
  'rollcall.unknown.x',
  'rollcall.sys.>',
  'rollcall.partition.0',
  '_INBOX.x',
  '_INBOX.>',
  '_INBOX_agent.>',
  '_INBOX_agent.x',
  '_R_.x.y',
  '_R_.>',
  '$G',
  '$KV.x.y',
  '$O.x.C.y',
  '$MQTT.msgs.x',
  '$NRG.P.x',
  '$SYS.REQ.USER.AUTH',
  '$SYS.REQ.USER.INFO',
  '$SYS.REQ.CLAIMS.LIST',
  '$SYS.REQ.CLAIMS.DELETE',
  '$SYS.REQ.CLAIMS.PACK',
  '$SYS.REQ.ACCOUNT.PING.CONNZ',
  '$SYS.REQ.ACCOUNT.PING.STATZ',
  '$SYS.REQ.ACCOUNT.x.SUBSZ',
  '$SYS.REQ.ACCOUNT.x.INFO',
  '$SYS.REQ.SERVER.PING',
  '$SYS.REQ.SERVER.PING.VARZ',
  '$SYS.REQ.SERVER.PING.SUBSZ',
  '$SYS.REQ.SERVER.x.RELOAD',
  '$SYS.REQ.SERVER.x.LDM',
  '$SYS.REQ.SERVER.x.PROFILEZ',
  '$SYS.ACCOUNT.x.CONNECT',
  '$SYS.ACCOUNT.x.DISCONNECT',
  '$SYS.ACCOUNT.>',
  '$SYS.SERVER.>',
  '$SYS.>',
  '$SYS._INBOX.x',
  '$JS.>',
  '$JS.API.>',
  '$JS.EVENT.ADVISORY.>',
  '$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.registrar',
  '$JS.FC.EVENTS.x.y',
  '$JS.SNAPSHOT.ACK.x',
  '$JS.API.ACCOUNT.PURGE.x',
  '$JS.API.META.LEADER.STEPDOWN',
  '$JS.API.SERVER.REMOVE',
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.LIST',
  '$JS.API.STREAM.CREATE.MINE',
  '$JS.API.STREAM.INFO.MINE',
  ...['EVENTS', 'FACTS', 'DEAD'].flatMap((stream) => [
    ...[
      'DELETE',
      'PURGE',
      'MSG.GET',
      'MSG.DELETE',
      'SNAPSHOT',
      'RESTORE',
      'LEADER.STEPDOWN',
      'PEER.REMOVE',
    ].map((verb) => `$JS.API.STREAM.${verb}.${stream}`),
    `$JS.API.CONSUMER.CREATE.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}.mine`,
    `$JS.API.CONSUMER.CREATE.${stream}.mine.rollcall.events.>`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.mine`,
    `$JS.API.CONSUMER.LIST.${stream}`,
    `$JS.API.CONSUMER.NAMES.${stream}`,
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.rollcall.x`,
    ...['INFO', 'DELETE', 'PAUSE', 'UNPIN', 'MSG.NEXT', 'LEADER.STEPDOWN'].flatMap((verb) =>
      ['registrar', 'approver', 'mine'].map((consumer) => `$JS.API.CONSUMER.${verb}.${stream}.${consumer}`),
    ),
    `$JS.ACK.${stream}.mine.1.1.1.1.1`,
  ]),
];

/** What stands in no list of the table: the server's own subjects, JetStream's, other conventions, and everything. */
export const nobodys = [
  ...others,
  ...others
    .filter((subject) => subject.startsWith('$JS.API.'))
    .map((subject) => subject.replace('$JS.API.', `$JS.${hubDomain}.API.`)),
];

/** A pattern and what lies around it: filled, one word more, one less, and every way to put a wildcard into it. */
function around(pattern: string, words: readonly string[]): string[] {
  const parts = pattern.split('.');
  const found = [pattern, `${pattern}.x`, `${pattern}.>`];
  for (const at of parts.keys()) {
    const [before, after] = [parts.slice(0, at), parts.slice(at + 1)];
    if (at > 0) found.push([...before, '>'].join('.'), before.join('.'));
    found.push([...before, '*', ...after].join('.'));
    const isWild = parts[at] === '*' || parts[at] === '>';
    for (const word of isWild ? words : ['x']) found.push([...before, word, ...after].join('.'));
  }
  // `>` stands at the end or it is no subject at all; `a.>.x` is refused as such, not for want of a right.
  return found.filter((subject) => !/(^|\.)>\./.test(subject));
}

/**
 * Every subject that any role may use, for the one who asks and for somebody else, what lies around each, every event type of
 * every kind, and what nobody may use: derived from the table, so that a new right is tried for every other role by itself.
 */
export function probesFor(who: WhoAsks): string[] {
  const words = ['x', who.name, who.otherName, who.key, who.otherKey];
  const patterns = Object.values(allRoles).flatMap(({ publish, subscribe }) => [...publish, ...subscribe]);
  const somebodyElse = { key: who.otherKey, name: who.otherName };
  const filled = [...filledIn(patterns, who), ...filledIn(patterns, somebodyElse)];
  const events = eventCatalogue.flatMap(({ kind, type }) =>
    [who.name, who.otherName, '*'].map((id) => `rollcall.events.${kind}.${id}.${type}`),
  );
  const all = [...new Set(filled)].flatMap((pattern) => around(pattern, words));
  return [...new Set([...nobodys, ...events, ...all])];
}
