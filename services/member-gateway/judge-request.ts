import { rollcallVersion } from '@rollcall/shared/service';
import { refusedPath } from '@rollcall/shared/tunnel';
import type { Refusal } from './status-answer.ts';
import { type OpenCounts, type StreamLimits, streamLimits } from './stream-limits.ts';

/** What the hub shows of a member, as far as it says who gets there. */
export interface MemberView {
  readonly name: string;
  readonly clusterId: string;
  readonly isAccepted: boolean;
  readonly liveness: string | undefined;
  readonly lastSeen: string | undefined;
  /** As whom people get in; undefined: nobody does. */
  readonly access: string | undefined;
  readonly isDenied: boolean;
  readonly agentVersion: string | undefined;
}

export interface RequestContext {
  readonly name: string;
  readonly path: string;
  readonly member: MemberView | undefined;
  /** Whether this replica has the bus, over which agents are asked. */
  readonly hasBus: boolean;
  readonly open: OpenCounts & { readonly saysTooMuch: boolean };
  readonly limits: StreamLimits;
}

type Rule = (context: RequestContext) => Refusal | undefined;

const path: Rule = (context) => {
  const why = refusedPath(context.path);
  return why === undefined ? undefined : { code: 400, message: `the path is not passed on: ${why}` };
};

const known: Rule = ({ name, member }) =>
  member === undefined
    ? { code: 404, message: `managedclusters.rollcall.dev "${name}" not found` }
    : undefined;

const accepted: Rule = ({ name, member }) =>
  member?.isAccepted
    ? undefined
    : {
        code: 503,
        message: `cluster "${name}" is not admitted to this hub; \`rollcall describe cluster ${name}\` says why`,
      };

const denied: Rule = ({ name, member }) =>
  member?.isDenied
    ? {
        code: 403,
        message: `access to cluster "${name}" is shut on this hub (spec.memberAccess: Denied); who has managedclusters/accept opens it: kubectl patch managedclusters.rollcall.dev ${name} --type=merge -p '{"spec":{"memberAccess":"Allowed"}}'`,
      }
    : undefined;

const away: Rule = ({ name, member }) =>
  member !== undefined && ['unreachable', 'stopped'].includes(member.liveness ?? '')
    ? {
        code: 503,
        message: `cluster "${name}" is away: its agent was last heard ${member.lastSeen ?? 'at no time'}`,
      }
    : undefined;

/** An agent that is older than the tunnel says nothing of it, as one does whose owner lets nobody in. */
const upgradeFirst = (agentVersion = 'an unknown version') =>
  agentVersion === rollcallVersion
    ? ''
    : `; its agent runs ${agentVersion} and the hub ${rollcallVersion}: an older one has to be upgraded first, with its chart or \`rollcall install agent\``;

const turnedOn: Rule = ({ name, member }) =>
  member?.access === undefined
    ? {
        code: 403,
        message: `the owner of cluster "${name}" has not turned on access to it; there it is the value memberAccess of the agent's chart, or \`rollcall agent run --member-access user:NAME\`${upgradeFirst(member?.agentVersion)}`,
      }
    : undefined;

const reachable: Rule = ({ hasBus }) =>
  hasBus
    ? undefined
    : {
        code: 503,
        message: 'the gateway of the hub has lost its connection to the bus; try again in a moment',
      };

const readable: Rule = ({ name, open }) =>
  open.saysTooMuch
    ? {
        code: 503,
        message: `the agent of cluster "${name}" says more than is read; try again in ten seconds`,
      }
    : undefined;

/** The first rule with an opinion wins. */
const rules: readonly Rule[] = [
  path,
  known,
  accepted,
  denied,
  away,
  turnedOn,
  reachable,
  readable,
  streamLimits,
];

/** @returns why a request is not carried to the member; undefined: it is */
export function judgeRequest(context: RequestContext): Refusal | undefined {
  for (const rule of rules) {
    const refusal = rule(context);
    if (refusal) return refusal;
  }
  return undefined;
}

const letsIn = (member: MemberView | undefined): member is MemberView =>
  member !== undefined && member.isAccepted && !member.isDenied;

/**
 * Whether streams to a member that are open have to end, now that the hub shows it like this. By an object that let nobody in there are
 * none: anybody could have made it up with the id of another cluster, whose streams are not its own.
 */
export function mustEnd(before: MemberView, now: MemberView | undefined): boolean {
  return letsIn(before) && (!letsIn(now) || now.clusterId !== before.clusterId);
}
