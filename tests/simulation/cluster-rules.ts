import { isDeepStrictEqual } from 'node:util';
import {
  type ClusterRecord,
  type Liveness,
  livenessStateOf,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { World } from './world.ts';

export interface ClusterStep {
  readonly event: StoredEvent;
  readonly before: ClusterRecord;
  readonly after: ClusterRecord;
  /** All events of the cluster before this one. */
  readonly history: readonly StoredEvent[];
  /** Undefined over real servers: rules that need it are left out there. */
  readonly world: World | undefined;
}

export interface ClusterRule {
  readonly invariant: string;
  /** It asks what the events do not tell; only a simulated world knows that. */
  readonly needsWorld?: true;
  /** What is wrong, or undefined. */
  broken(step: ClusterStep): string | undefined;
}

const isOneOf = (type: string, types: readonly string[]) => types.includes(type);

/** The legal state machine of a cluster, written down once more, from the design and not from the code. */
export const clusterRules: readonly ClusterRule[] = [
  {
    invariant: 'I2 a decision is about the request that stands',
    broken: ({ event, before }) => {
      if (!isOneOf(event.type, ['approved', 'held', 'denied', 'leaving'])) return undefined;
      const { identity } = before;
      const section = event.section as NonNullable<ClusterRecord['decision']>;
      if (section.verdict === 'predefined') return undefined;
      if (!identity) return 'nobody has asked';
      if (identity.state === 'left' || identity.state === 'refused')
        return `the cluster is ${identity.state}`;
      const isSame = section.requestId === identity.request.id && section.key === identity.request.key;
      return isSame ? undefined : `it is about request ${section.requestId}, not ${identity.request.id}`;
    },
  },
  {
    invariant: 'I2 one decision for each request',
    broken: ({ event, before, after }) => {
      if (!isOneOf(event.type, ['approved', 'held', 'denied']) || event.by?.person !== undefined)
        return undefined;
      const { decision } = before;
      if (
        !decision ||
        decision.requestId !== after.decision?.requestId ||
        decision.key !== after.decision?.key
      )
        return undefined;
      if (decision.verdict !== 'held') return `it was ${decision.verdict} already`;
      const isSameRule = event.by?.policy === decision.by.policy && event.by?.rule === decision.by.rule;
      // What is said of the proof of another key is what a person decides by.
      const isSameWord = event.reason !== 'KeyChanged' || event.message === decision.message;
      return event.type === 'held' && event.reason === decision.reason && isSameRule && isSameWord
        ? 'held twice by one rule for one reason'
        : undefined;
    },
  },
  {
    invariant: 'a request that waits changes in what is said of the cluster, and in nothing else',
    broken: ({ event, before, after }) => {
      const [was, now] = [before.identity?.request, after.identity?.request];
      // A key that was taken by a rotation and lost again may come with the same id.
      if (event.type !== 'requested' || was?.id !== now?.id || was?.key !== now?.key) return undefined;
      if (before.identity?.state === 'left' || before.identity?.state === 'refused') return undefined;
      const { decision } = before;
      if (decision?.requestId === was?.id && decision?.verdict !== 'held')
        return `it is ${decision?.verdict}`;
      if ((now?.signedAtMs ?? 0) < (was?.signedAtMs ?? 0)) return 'an older ask undoes a later one';
      const { claimed: said, signedAtMs: _before, member: _shown, ...same } = was ?? {};
      const { claimed: says, signedAtMs: _after, member: _shows, ...still } = now ?? {};
      // What the person who decides is shown, and an approval gives.
      if (!isDeepStrictEqual(said?.labels, says?.labels)) return 'it asks for other labels';
      return isDeepStrictEqual(same, still) ? undefined : 'it is another request';
    },
  },
  {
    invariant: 'a person is heard once',
    broken: ({ event, history }) => {
      const { actedOn } = event.section as { actedOn?: string };
      if (event.by?.person !== 'anna' || !isOneOf(event.type, ['approved', 'denied'])) return undefined;
      const again = history.some(
        ({ type, section }) =>
          isOneOf(type, ['approved', 'denied']) && (section as { actedOn?: string }).actedOn === actedOn,
      );
      const isCarried =
        (
          history.findLast(({ definition }) => definition.writer === 'approver')?.section as
            | { actedOn?: string }
            | undefined
        )?.actedOn === actedOn;
      return again && !isCarried ? 'the same decision counted twice' : undefined;
    },
  },
  {
    invariant: 'a key that was in is in, or taken back',
    broken: ({ before, after }) => {
      const was = before.decision?.approvedKey;
      const taken = new Set(after.decision?.revokedKeys.map(({ key }) => key));
      const now = after.decision?.approvedKey;
      const retiring = after.decision?.retiringKey;
      if (now !== undefined && taken.has(now)) return 'a key is in and taken back';
      // While its successor takes over both are good (ADR 10); then it is taken back like any other.
      const open = [was, before.decision?.retiringKey].filter((key) => key !== undefined);
      return open.some((key) => key !== now && key !== retiring && !taken.has(key))
        ? 'a key that was in is forgotten'
        : undefined;
    },
  },
  {
    invariant: 'no policy replaces a key or lets in what was taken back',
    broken: ({ event, before, after }) => {
      if (event.type !== 'approved' || event.by?.policy === undefined) return undefined;
      const { decision } = before;
      const key = after.decision?.approvedKey;
      if (decision?.approvedKey !== undefined && decision.approvedKey !== key)
        return 'a policy replaced a key';
      const wasTaken = decision?.revokedKeys.some((revoked) => revoked.key === key);
      return wasTaken ? 'a policy let in what was taken back' : undefined;
    },
  },
  {
    invariant: 'revoked repeats the decision before it',
    broken: ({ event, before, after }) => {
      if (event.type !== 'revoked' || isDeepStrictEqual(event.section, before.decision)) return undefined;
      const { retiringKey, revokedKeys: taken, ...rest } = before.decision ?? {};
      const { revokedKeys, ...now } = after.decision ?? {};
      // The end of a rotation: the former key, and nothing else.
      const isItsEnd =
        retiringKey !== undefined &&
        revokedKeys?.length === (taken?.length ?? 0) + 1 &&
        revokedKeys.some(({ key }) => key === retiringKey);
      return isItsEnd && isDeepStrictEqual(now, rest) ? undefined : 'the section is another one';
    },
  },
  {
    invariant: 'I3 only an approved key is admitted',
    broken: ({ event, before, after }) => {
      if (event.type !== 'admitted') return undefined;
      const key = after.identity?.admittedKey;
      if (key !== before.decision?.approvedKey) return 'the key is not the approved one';
      const { identity } = before;
      return identity?.state === 'admitted' && identity.admittedKey === key
        ? 'it was admitted already'
        : undefined;
    },
  },
  {
    invariant: 'the registrar forgets no admitted key while it is in',
    broken: ({ event, before, after }) => {
      const was = before.identity?.admittedKey;
      if (event.type !== 'requested' || was === undefined) return undefined;
      return before.identity?.state !== 'left' && after.identity?.admittedKey !== was
        ? 'it is gone'
        : undefined;
    },
  },
  {
    invariant: 'I4 access follows the decision',
    broken: ({ event, before }) => {
      const { decision } = before;
      if (event.type === 'provisioned' && decision?.approvedKey === undefined) return 'nobody is let in';
      if (event.type === 'deprovisioned' && decision?.verdict === 'approved')
        return 'the cluster is approved';
      return undefined;
    },
  },
  {
    invariant: 'what token and policy gave stays until a person takes it off',
    needsWorld: true,
    broken: ({ event, before, after }) => {
      if (event.type !== 'changed') return undefined;
      const { labels: given = {} } = before.decision ?? {};
      // The only label that the people of the simulation speak of is "team".
      const lost = Object.keys(given).filter(
        (label) => label !== 'team' && after.decision?.labels[label] !== given[label],
      );
      return lost.length === 0 ? undefined : `nobody took off ${lost.join(', ')}`;
    },
  },
  {
    invariant: 'liveness is of the admitted key',
    broken: ({ event, before }) => {
      if (event.definition.writer !== 'heartbeat') return undefined;
      const { key } = event.section as { key: string };
      if (key !== before.identity?.admittedKey) return 'another key';
      const { liveness } = before;
      // Of the key, and of what its heartbeats are like.
      if (isOneOf(event.type, ['key-shared', 'key-unshared', 'flooding'])) return undefined;
      const isSame =
        liveness?.key === key && livenessStateOf(liveness) === livenessStateOf(event.section as Liveness);
      return isSame && event.type !== 'joined' ? `it was ${liveness.state} already` : undefined;
    },
  },
  {
    invariant: 'I7 one transition for each real change',
    needsWorld: true,
    broken: ({ event, world }) =>
      event.definition.writer === 'heartbeat'
        ? world?.writing?.signsOfLife.written(event.id, event.type)
        : undefined,
  },
  {
    invariant: 'a cluster joins once for each admission',
    broken: ({ event, history }) => {
      if (event.type !== 'joined') return undefined;
      const last = history.findLast(({ type }) => type === 'joined' || type === 'admitted');
      return last?.type === 'joined' ? 'it has joined already' : undefined;
    },
  },
  {
    invariant: 'a cluster has left when nothing of it is there',
    broken: ({ event, before }) => {
      if (event.type !== 'left') return undefined;
      const { decision, access } = before;
      if (decision?.verdict !== 'leaving') return `the verdict is ${decision?.verdict}`;
      // By its leaving: who was denied or revoked before keeps its namespace until then.
      const isGone = access?.state === 'deprovisioned' && access.verdict === 'leaving';
      return isGone ? undefined : `its access is ${access?.state}, by the verdict ${access?.verdict}`;
    },
  },
  {
    invariant: 'cut means refused by the server',
    needsWorld: true,
    broken: ({ event, world, after }) => {
      if (event.type !== 'cut') return undefined;
      const { key } = event.section as { key: string };
      const isStillTaken = after.decision?.revokedKeys.some((revoked) => revoked.key === key);
      return isStillTaken && world?.account.revocations[key] === undefined
        ? 'it is not on the list'
        : undefined;
    },
  },
];
