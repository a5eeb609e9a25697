import { eventCatalogue, type EventWriter } from '@rollcall/shared/events';
import { consumerNames, consumersOf, type ConsumingService } from './event-consumers.ts';
import type { Role, RoleAccount } from './role.ts';

/**
 * JetStream of account HUB as other accounts know it, the way a NATS domain is known. Not as `$JS.API`: in an account without
 * JetStream the server answers that by itself, and both answers come (measured).
 */
export const hubDomain = 'hub';
const api = `$JS.${hubDomain}.API`;

/** Reading the streams without a consumer of one's own: whoever may create consumers may have messages pushed elsewhere. */
const readEvents = [`${api}.STREAM.INFO.EVENTS`, `${api}.DIRECT.GET.EVENTS`];
/** How large the other streams are, and what could not be handled: for people. */
const readStreams = [`${api}.STREAM.INFO.FACTS`, `${api}.STREAM.INFO.DEAD`, `${api}.DIRECT.GET.DEAD`];
const readFacts = [`${api}.DIRECT.GET.FACTS`];
/** How far each service has come. */
const readPlaces = consumerNames.map((name) => `${api}.CONSUMER.INFO.EVENTS.${name}`);

/** Where the server takes the answers to what other accounts asked: nobody else hears there. */
const answerOthers = ['_R_.>'];
/** What was stored, with its sequence; the streams publish it themselves, and nobody else can. */
const hearEventsOfClusters = 'rollcall.stored.cluster.*.*';
/** Every stream publishes what it stored: subjects of account HUB that no role may publish. */
export const republished = ['rollcall.stored.>', 'rollcall.stored-facts.*'] as const;

function mayWrite(writer: EventWriter): string[] {
  return eventCatalogue
    .filter((definition) => definition.writer === writer)
    .map((definition) => `rollcall.events.${definition.kind}.*.${definition.type}`);
}

function mayConsume(service: ConsumingService): string[] {
  return [
    ...consumersOf(service).flatMap(({ name }) => [
      `${api}.CONSUMER.INFO.EVENTS.${name}`,
      `${api}.CONSUMER.MSG.NEXT.EVENTS.${name}`,
      `$JS.ACK.EVENTS.${name}.>`,
    ]),
    `rollcall.dead.${service}.*`,
    // Its own notes of what it has put aside for a newer version.
    `rollcall.held.${service}.*`,
    `${api}.DIRECT.GET.DEAD`,
  ];
}

function serviceRole(
  name: Lowercase<RoleAccount>,
  description: string,
  more: { publish: readonly string[]; subscribe?: readonly string[] },
): Role {
  return {
    account: name.toUpperCase() as RoleAccount,
    description,
    publish: [
      ...readEvents,
      'rollcall.sys.jetstream',
      'rollcall.sys.witness',
      ...answerOthers,
      ...more.publish,
    ],
    subscribe: [`_INBOX_${name}.>`, '$SRV.>', ...(more.subscribe ?? [])],
  };
}

export const agentRoles = {
  token: {
    account: 'AGENTS',
    description:
      'a new agent that proved a registration token and its own key to the callout: may ask to join',
    publish: ['rollcall.request.{{name()}}.join'],
    subscribe: ['rollcall.reply.{{name()}}.>'],
  },
  returning: {
    account: 'AGENTS',
    description: 'an agent that proved its own known key to the callout, because its credentials have ended',
    publish: ['join', 'renew', 'leave'].map((verb) => `rollcall.request.{{name()}}.${verb}`),
    subscribe: ['rollcall.reply.{{name()}}.>'],
  },
  waiting: {
    account: 'AGENTS',
    description: 'an agent whose request was taken: may ask again and wait for the answer',
    publish: ['rollcall.request.{{subject()}}.join', 'rollcall.request.{{subject()}}.leave'],
    subscribe: ['rollcall.reply.{{subject()}}.>'],
  },
  member: {
    account: 'AGENTS',
    description: 'the agent of an approved cluster',
    publish: [
      ...['join', 'renew', 'facts', 'access', 'leave', 'rotate'].map(
        (verb) => `rollcall.request.{{subject()}}.${verb}`,
      ),
      'rollcall.heartbeat.{{name()}}',
      'rollcall.heartbeat-partition.*.{{name()}}',
      'rollcall.tunnel.up.{{name()}}.*.*',
    ],
    subscribe: [
      'rollcall.reply.{{subject()}}.>',
      'rollcall.tunnel.open.{{name()}}',
      'rollcall.tunnel.down.{{name()}}.*.*',
    ],
  },
} as const satisfies Record<string, Role>;
export type AgentRole = keyof typeof agentRoles;

export const serviceRoles = {
  registrar: serviceRole('registrar', 'takes what agents ask and answers it; writes identities', {
    publish: [
      ...mayWrite('registrar'),
      ...mayConsume('registrar'),
      ...readFacts,
      'rollcall.reply.*.>',
      'rollcall.facts.*',
      'rollcall.access.mint',
      'rollcall.flood.heard.*',
      'rollcall.sys.health',
    ],
    subscribe: [
      'rollcall.request.*.*',
      hearEventsOfClusters,
      // Its replicas keep a flooder out together.
      'rollcall.flood.heard.*',
      'rollcall.flood.cut.*',
    ],
  }),
  approver: serviceRole('approver', 'decides', {
    publish: [...mayWrite('approver'), ...mayConsume('approver'), ...readFacts],
  }),
  'rbac-provisioner': serviceRole('rbac-provisioner', 'makes namespaces and rights', {
    publish: [...mayWrite('rbac-provisioner'), ...mayConsume('rbac-provisioner')],
    subscribe: ['rollcall.access.mint'],
  }),
  heartbeat: serviceRole('heartbeat', 'hears heartbeats; writes liveness', {
    publish: [
      ...mayWrite('heartbeat'),
      'rollcall.live.*',
      'rollcall.liveness.youngest',
      // Its own heartbeats, to check that it still receives; no cluster can have that id.
      'rollcall.heartbeat._loopback',
      'rollcall.heartbeat-partition.*._loopback',
      // Its replicas ask each other.
      '_INBOX_heartbeat.>',
    ],
    subscribe: [
      hearEventsOfClusters,
      'rollcall.heartbeat.*',
      'rollcall.heartbeat-partition.*.*',
      'rollcall.sys.connected',
      'rollcall.sys.disconnected',
      'rollcall.liveness.youngest',
      'rollcall.liveness.clusters',
    ],
  }),
  projector: serviceRole('projector', 'shows the result in Kubernetes and to who watches; writes no event', {
    publish: [...mayConsume('projector'), ...readFacts, 'rollcall.history.witnessed'],
    subscribe: ['rollcall.stored-facts.*', 'rollcall.history.read'],
  }),
  'account-controller': serviceRole('account-controller', 'turns revocations into account claims', {
    publish: [...mayWrite('account-controller'), ...mayConsume('account-controller'), 'rollcall.flood.cut.*'],
    subscribe: ['rollcall.flood.heard.*', 'rollcall.history.witnessed'],
  }),
  'agent-host': serviceRole(
    'agent-host',
    'reaches the members whose clusters name a kubeconfig Secret; says how far it has come',
    { publish: mayWrite('agent-host'), subscribe: [hearEventsOfClusters] },
  ),
  'member-gateway': serviceRole(
    'member-gateway',
    'carries what people ask of the API of a member to its agent; keeps nothing and writes no event',
    {
      publish: ['rollcall.tunnel.open.*', 'rollcall.tunnel.down.*.*.*'],
      subscribe: ['rollcall.tunnel.up.*.*.*'],
    },
  ),
} as const satisfies Record<string, Role>;
export type ServiceName = keyof typeof serviceRoles;

/** Accounts and users beside agents and services. */
export const otherRoles = {
  ops: {
    account: 'OPS',
    description: 'people who watch: hear what happens, and read the history in pages that a service gives',
    publish: ['rollcall.history.read', '$SRV.>', 'rollcall.liveness.clusters'],
    subscribe: ['_INBOX_ops.>', 'rollcall.stored.>', 'rollcall.live.*'],
  },
  inspector: {
    account: 'INSPECTOR',
    description: 'people who run the hub: read every stream, for the commands of `rollcall`; write nothing',
    publish: [
      ...readEvents,
      ...readFacts,
      ...readStreams,
      ...readPlaces,
      '$SRV.>',
      'rollcall.liveness.clusters',
    ],
    subscribe: ['_INBOX_inspector.>', 'rollcall.stored.>', 'rollcall.live.*'],
  },
  setup: {
    account: 'HUB',
    description: 'makes the streams and consumers when a hub is installed or upgraded; no service has it',
    publish: [
      '$JS.API.INFO',
      ...['INFO', 'CREATE', 'UPDATE'].flatMap((verb) =>
        ['EVENTS', 'FACTS', 'DEAD'].map((stream) => `$JS.API.STREAM.${verb}.${stream}`),
      ),
      '$JS.API.CONSUMER.INFO.EVENTS.*',
      '$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.*',
    ],
    subscribe: ['_INBOX_setup.>'],
  },
  backup: {
    account: 'BACKUP',
    description:
      'reads everything for `rollcall backup` and `rollcall verify`; made for one command, never stored',
    publish: [...readEvents, ...readFacts, ...readStreams, ...readPlaces],
    subscribe: ['_INBOX_backup.>'],
  },
  mend: {
    account: 'MEND',
    description:
      'has a service try a dead letter again, or drops it, for `rollcall dead`; made for one command, never stored',
    publish: [...readStreams, 'rollcall.dead.*.*', 'rollcall.held.*.*'],
    subscribe: ['_INBOX_mend.>'],
  },
  restore: {
    account: 'RESTORE',
    description:
      'fills the streams of a hub that does not run, or begins an epoch in one that has lost its history, for `rollcall restore`; made for one command, never stored',
    publish: [
      ...readEvents,
      'rollcall.events.>',
      'rollcall.facts.*',
      'rollcall.dead.*.*',
      'rollcall.held.*.*',
      ...consumerNames.map((name) => `${api}.CONSUMER.DELETE.EVENTS.${name}`),
      // What an archive has is missing in what it restores, too.
      `${api}.STREAM.MSG.DELETE.EVENTS`,
    ],
    subscribe: ['_INBOX_restore.>'],
  },
  archive: {
    account: 'ARCHIVE',
    description:
      'takes old events out of the history, for `rollcall history archive`; made for one command, never stored',
    publish: [
      ...readEvents,
      ...readPlaces,
      `${api}.DIRECT.GET.DEAD`,
      ...mayWrite('archive'),
      `${api}.STREAM.MSG.DELETE.EVENTS`,
    ],
    subscribe: ['_INBOX_archive.>'],
  },
  callout: {
    account: 'AUTH',
    description: 'the registrar as it answers the authorization callout',
    publish: [],
    subscribe: ['$SYS.REQ.USER.AUTH'],
    mayRespond: true,
  },
  'notice-probe': {
    account: 'AGENTS',
    description:
      'the heartbeat service as it comes and goes like an agent, to see whether the server tells it of connections',
    publish: [],
    subscribe: ['_INBOX_notice-probe.>'],
  },
  claims: {
    account: 'CLAIMS',
    description: 'the account-controller as it pushes account claims and cuts connections',
    publish: [
      '$SYS.REQ.CLAIMS.UPDATE',
      '$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP',
      // Not as the server calls it: each account has that name already, for its own connections alone (measured).
      'rollcall.sys.connections',
      // What each server acts on, which is not what it was told: a push by an unlisted key is stored and ignored (measured).
      '$SYS.REQ.SERVER.PING.ACCOUNTZ',
      // Which servers there are: all of them are asked, and one that says nothing is not taken for none.
      '$SYS.REQ.SERVER.*.STATSZ',
      '$SYS.REQ.SERVER.*.KICK',
    ],
    subscribe: ['_INBOX_claims.>'],
  },
} as const satisfies Record<string, Role>;
