import { agentRoles, hubDomain, otherRoles, republished, serviceRoles } from './nats-roles.ts';
import type { AccountName, Role } from './role.ts';
import type { HubKeys } from './nats-account-claims.ts';
import { witnessAccount } from './history-witness.ts';
import { simulatorRole } from './simulator.ts';

/** What one account gives and another takes: the only ways between accounts. */
export interface AccountLink {
  readonly from: AccountName;
  readonly to: AccountName;
  /** Of a service `from` is who answers, of a stream who publishes. */
  readonly kind: 'service' | 'stream';
  /** As `to` knows it. */
  readonly subject: string;
  /** As `from` knows it, where that is another one. */
  readonly remoteSubject?: string;
}

/** What is asked across accounts. The first that fits counts. */
interface Service {
  readonly by: AccountName;
  readonly subject: string;
  /** Where those who answer hear it; absent: the same. */
  readonly remote?: (subject: string) => string;
  /** An answer of several messages, or of several who answer. */
  readonly hasManyReplies?: true;
  /**
   * So long the server keeps in mind who asked, and up to twice as long; it does not know which of several answers is the last. Absent: its
   * own two minutes, in which who asks all the time fills its memory.
   */
  readonly answeredWithinMs?: number;
}

const jetStream = (subject: string): Service => ({
  by: 'HUB',
  subject: `$JS.${hubDomain}.API.${subject}`,
  remote: (local) => local.replace(`$JS.${hubDomain}.`, '$JS.'),
});

/** Of what is answered from memory. */
const atOnceMs = 5000;

const serviceAccounts = Object.values(serviceRoles).map(({ account }) => account);

/**
 * Who answers what: JetStream in account HUB, the servers in SYS, and some of our services. What agents ask is none of it: the registrar
 * answers to a subject of its own, and for each request that names a reply the server would wait for that in vain, minutes long, in its memory.
 */
export const services: readonly Service[] = [
  jetStream('STREAM.INFO.*'),
  jetStream('CONSUMER.INFO.EVENTS.*'),
  jetStream('CONSUMER.DELETE.EVENTS.*'),
  jetStream('STREAM.MSG.DELETE.EVENTS'),
  { ...jetStream('DIRECT.GET.*'), hasManyReplies: true },
  { ...jetStream('CONSUMER.MSG.NEXT.EVENTS.*'), hasManyReplies: true },
  { by: 'HUB', subject: '$JS.ACK.EVENTS.>' },
  ...['rollcall.events.>', 'rollcall.facts.*', 'rollcall.dead.*.*', 'rollcall.held.*.*'].map((subject) => ({
    by: 'HUB' as const,
    subject,
  })),
  {
    by: 'SYS',
    subject: 'rollcall.sys.jetstream',
    remote: () => '$SYS.REQ.SERVER.PING.JSZ',
    hasManyReplies: true,
  },
  {
    by: 'SYS',
    subject: 'rollcall.sys.health',
    remote: () => '$SYS.REQ.SERVER.PING.HEALTHZ',
    hasManyReplies: true,
  },
  ...otherRoles.claims.publish.map((subject) => ({
    by: 'SYS' as const,
    subject,
    hasManyReplies: true as const,
    ...(subject === 'rollcall.sys.connections' ? { remote: () => '$SYS.REQ.SERVER.PING.CONNZ' } : {}),
  })),
  { by: 'RBAC-PROVISIONER', subject: 'rollcall.access.mint' },
  {
    by: 'HEARTBEAT',
    subject: 'rollcall.liveness.clusters',
    hasManyReplies: true,
    answeredWithinMs: atOnceMs,
  },
  { by: 'PROJECTOR', subject: 'rollcall.history.read', hasManyReplies: true, answeredWithinMs: 30_000 },
  ...serviceAccounts.map((by) => ({
    by,
    subject: '$SRV.>',
    hasManyReplies: true as const,
    answeredWithinMs: atOnceMs,
  })),
];

/** Notices of the server about connections of agents, as the heartbeat service knows them. */
const notices = ['CONNECT', 'DISCONNECT'] as const;

const everyRole: readonly Role[] = [
  ...Object.values(agentRoles),
  ...Object.values(serviceRoles),
  ...Object.values(otherRoles),
  simulatorRole(['*']),
];

/** As an account sees the subjects of all its users. */
const withoutTemplates = (subject: string): string => subject.replace(/\{\{[a-z]+\(\)\}\}/g, '*');

/** Whether every subject under `narrow` is one under `wide`. */
function isWithin(narrow: string, wide: string): boolean {
  const words = narrow.split('.');
  const pattern = wide.split('.');
  for (const [at, part] of pattern.entries()) {
    if (part === '>') return words.length > at;
    const word = words[at];
    if (word === undefined || word === '>' || (part !== '*' && part !== word)) return false;
  }
  return words.length === pattern.length;
}

/** Without those that lie within another of them. */
export function widestOf(subjects: readonly string[]): string[] {
  return [...new Set(subjects)].filter(
    (subject, at, all) => !all.some((other, otherAt) => otherAt !== at && isWithin(subject, other)),
  );
}

/** What one says and the other hears, where one of them is the wider. */
function common(one: string, other: string): string | undefined {
  if (isWithin(one, other)) return one;
  return isWithin(other, one) ? other : undefined;
}

/** Inboxes, and what answers are taken on, never leave an account. */
const isPrivate = (subject: string): boolean => subject.startsWith('_');

function asked({ account, publish }: Role): AccountLink[] {
  return publish.map(withoutTemplates).flatMap((subject) =>
    services
      .filter((service) => service.by !== account && isWithin(subject, service.subject))
      .map(({ by, remote }) => ({
        from: by,
        to: account,
        kind: 'service' as const,
        subject,
        ...(remote === undefined ? {} : { remoteSubject: remote(subject) }),
      })),
  );
}

function heard(publisher: Pick<Role, 'account' | 'publish'>): AccountLink[] {
  const { account: from, publish } = publisher;
  const said = publish
    .map(withoutTemplates)
    .filter(
      (subject) => !isPrivate(subject) && !services.some((service) => isWithin(subject, service.subject)),
    );
  return everyRole
    .filter(({ account }) => account !== from)
    .flatMap(({ account: to, subscribe }) =>
      subscribe.map(withoutTemplates).flatMap((wanted) =>
        said.flatMap((subject) => {
          const both = common(subject, wanted);
          return both === undefined ? [] : [{ from, to, kind: 'stream' as const, subject: both }];
        }),
      ),
    );
}

/** Without those that lie within another: the server takes no two services of one account that overlap. */
function widest(links: readonly AccountLink[]): AccountLink[] {
  const isAlike = (one: AccountLink, other: AccountLink) =>
    one.from === other.from && one.to === other.to && one.kind === other.kind;
  return links.filter(
    (link, at) =>
      !links.some(
        (other, otherAt) =>
          at !== otherAt &&
          isAlike(link, other) &&
          isWithin(link.subject, other.subject) &&
          (link.subject !== other.subject || otherAt < at),
      ),
  );
}

let known: readonly AccountLink[] | undefined;

/** The table does not change while a process runs, and each look at all of it takes 10 ms (measured). */
function linksOfTable(): readonly AccountLink[] {
  const streams = { account: 'HUB' as const, publish: republished };
  known ??= widest([...everyRole.flatMap(asked), ...[streams, ...everyRole].flatMap(heard)]);
  return known;
}

/**
 * Every way between two accounts, worked out from the table: what a role may publish and another account answers is a service,
 * what it may publish and another account hears is a stream.
 * @param keys - of account AGENTS, which the server's notices are named after, and of SYS, which the witness is
 */
export function accountLinks(keys: Pick<HubKeys, 'agents' | 'sys'>): AccountLink[] {
  return [
    ...linksOfTable(),
    // Of the claims of all accounts, which the account-controller may read, these alone.
    ...serviceAccounts.map((to) => ({
      from: 'SYS' as const,
      to,
      kind: 'service' as const,
      subject: 'rollcall.sys.witness',
      remoteSubject: `$SYS.REQ.ACCOUNT.${witnessAccount(keys)}.CLAIMS.LOOKUP`,
    })),
    ...notices.map((notice) => ({
      from: 'SYS' as const,
      to: 'HEARTBEAT' as const,
      kind: 'stream' as const,
      subject: `rollcall.sys.${notice.toLowerCase()}ed`,
      remoteSubject: `$SYS.ACCOUNT.${keys.agents}.${notice}`,
    })),
  ];
}
