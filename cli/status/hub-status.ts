import type { StreamSize } from '@rollcall/shared/bus';
import { errorCatalogue } from '@rollcall/shared/errors';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { figureOf, figureOfParts, leastFigureOf, type ServiceReply, serviceNames } from './ask-services.ts';
import {
  admissionProblems,
  clusterProblems,
  type Problem,
  type ServiceLine,
  serviceProblems,
  unasked,
  wrong,
} from './problems.ts';
import type { BusSide, HeldEvents, KubernetesSide } from './read-sides.ts';
import type { StreamName } from './stream-sizes.ts';

/** A hub at a glance. What could not be asked is undefined, and `problems` says why. */
export interface HubStatus {
  readonly version: string;
  /** A server that is there need not tell its version. */
  readonly kubernetes: {
    readonly server: string;
    readonly version?: string | undefined;
    readonly isAway: boolean;
  };
  readonly nats: { readonly server?: string; readonly version?: string };
  readonly services: readonly ServiceLine[];
  readonly clusters: Readonly<Record<string, number>> | undefined;
  readonly outage: boolean | undefined;
  readonly waitingRequests: number | undefined;
  readonly oldestWaitingSeconds: number | undefined;
  readonly heldOperations: { readonly id: string; readonly count: number } | undefined;
  readonly admission: 'in place' | 'missing' | undefined;
  /** Mutating admission of others that may change what people write. */
  readonly mutators: readonly string[] | undefined;
  readonly streams: Partial<Readonly<Record<StreamName, StreamSize>>>;
  readonly deadLetters: number | undefined;
  /** Events that wait for a newer version of a service, or for another try, by service. */
  readonly heldEvents: HeldEvents | undefined;
  /** How full the place of the events is. */
  readonly eventsUsedPercent: number | undefined;
  readonly projectorLagSeconds: number | undefined;
  /** Everything that is not as it should be, and what could not be asked; empty: exit 0. */
  readonly problems: readonly Problem[];
}

/** From here on the registrar refuses new requests (services/registrar/limits/refuse-when-full.ts). */
const fullFromPercent = 85;
/** The chart has no probe that would do it: one that failed would take agents off their server for as long as the disk is full. */
const givenUp =
  'A NATS server that could not write takes its streams up only at a start. `rollcall up` starts it by itself; of a hub in a cluster, once there is room: `kubectl --namespace rollcall-system rollout restart statefulset rollcall-nats`.';
/** Above this, people see an old projection; a burst of joins stays below. */
const tolerableLagSeconds = 10;

/** Above this the list is filling up: rolling the signing keys over without cutting anybody off takes a day. */
const revocationsAlarmShare = 0.7;

/** By what the heartbeat service calls the figure. */
const clusterStates = {
  ready: 'clustersReady',
  suspect: 'clustersSuspect',
  unreachable: 'clustersUnreachable',
  stopped: 'clustersStopped',
  'member API down': 'clustersMemberDown',
  flapping: 'clustersFlapping',
  'never seen': 'clustersNeverSeen',
} as const;

/** How many clusters are in which state, as the heartbeat service has it. */
export function clusterCounts(
  answers: readonly ServiceReply[],
): Readonly<Record<string, number>> | undefined {
  const known = Object.entries(clusterStates).flatMap(([state, figure]) => {
    const count = figureOfParts(answers, figure);
    return count === undefined ? [] : [[state, count] as const];
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function servicesOf({ answers }: BusSide, { hasMemberApi }: KubernetesSide): ServiceLine[] {
  const lines = serviceNames.map((name) => {
    const replicas = answers.filter((answer) => answer.name === name);
    return {
      name,
      replicas: replicas.length,
      ready: replicas.filter(({ figures }) => figures['ready'] === 1).length,
      versions: [...new Set(replicas.map(({ version }) => version))].toSorted(),
    };
  });
  // Nobody misses a gateway of which the API server was told nothing.
  const isMissed = (name: string) => name !== 'member-gateway' || hasMemberApi === true;
  return lines.filter(({ name, replicas }) => replicas > 0 || isMissed(name));
}

/** `1 of approver, 3 of registrar`; empty where none is held. */
export const heldText = (held: HeldEvents): string =>
  Object.entries(held)
    .map(([service, count]) => `${count} of ${service}`)
    .toSorted()
    .join(', ');

/** What is wrong that no figure of its own shows, and what to do about it. */
export interface Trouble {
  readonly check: string;
  readonly message: string;
  readonly next: string;
}

/** What the services say of themselves, and held operations. */
export function troublesOf({ answers }: BusSide, { held }: KubernetesSide): Trouble[] {
  const revokedKeys = figureOf(answers, 'account-controller', 'revokedKeys') ?? 0;
  const revokedKeysRoom =
    figureOf(answers, 'account-controller', 'revokedKeysRoom') ?? Number.POSITIVE_INFINITY;
  const revokedKeysDropped = figureOf(answers, 'account-controller', 'revokedKeysDropped') ?? 0;
  const unproven = figureOf(answers, 'approver', 'unproven') ?? 0;
  const comparisonFailures = figureOf(answers, 'projector', 'comparisonFailures') ?? 0;
  const intervalMultiplier = figureOf(answers, 'heartbeat', 'intervalMultiplier') ?? 1;
  const isOneSignal = answers.some(({ name, figures }) => name === 'heartbeat' && figures['signals'] === 1);
  const isHistoryLost = answers.some(({ figures }) => figures['historyLost'] === 1);
  const found: (Trouble | false | undefined)[] = [
    isHistoryLost && {
      check: 'history lost',
      message:
        'the history is lost or cut (HISTORY_LOST); the logs of the services, and `rollcall up`, say where',
      next: errorCatalogue.HISTORY_LOST.hint,
    },
    leastFigureOf(answers, 'approver', 'admissionOk') === 0 && {
      check: 'admission probe',
      message:
        'the approver holds decisions of people: its probe of the admission policies was not refused as it must be',
      next: errorCatalogue.ADMISSION_MISSING.hint,
    },
    unproven > 0 && {
      check: 'author unknown',
      message: `${unproven} decisions, operations, tokens, policies or sets were written while the admission policies may not have held, and do not count`,
      next: '`rollcall events --type admission-changed` names them; who may and wants them writes them again.',
    },
    held && {
      check: 'operations',
      message: `${held.operations.length} operations that put members out are held`,
      next: `\`rollcall get operations\` shows them, \`rollcall confirm ${held.id}\` has them acted on.`,
    },
    isOneSignal && {
      check: 'signals',
      message:
        'liveness is degraded to one signal: the NATS server does not tell of connections, so only missing heartbeats show who is gone',
      next: 'docs/metrics.md says what to look at (RollcallOneSignal).',
    },
    comparisonFailures > 0 && {
      check: 'comparison',
      message: `the projector could not list what there is (${comparisonFailures} times), so what was changed in Kubernetes while it was away may stay`,
      next: 'It tries again by itself; its log says why, and docs/scale.md what such a list costs the bus.',
    },
    intervalMultiplier > 1 && {
      check: 'interval',
      message: `the fleet is larger than the heartbeats that the hub takes: intervals and graces are ${intervalMultiplier.toFixed(2)} times what they are set to`,
      next: 'Raise heartbeatsPerSecond of the heartbeat service, or give it parts (docs/scale.md).',
    },
    revokedKeysDropped > 0 && {
      check: 'revocations dropped',
      message: `${revokedKeysDropped} keys that were replaced or taken back have no room on the revocation list: who has one connects again until its credentials end`,
      next: '`rollcall trust rotate signing-keys --now` makes every credential of before void (docs/security/revoke.md).',
    },
    revokedKeys > revocationsAlarmShare * revokedKeysRoom && {
      check: 'revocations',
      message: `${revokedKeys} keys are on the revocation list, which takes ${revokedKeysRoom}`,
      next: '`rollcall trust rotate signing-keys` empties it (docs/security/revoke.md).',
    },
  ];
  return found.filter((one): one is Trouble => one !== undefined && one !== false);
}

/** What is lost explains most of what else is found. */
const isCause = ({ check }: Trouble): boolean => check === 'history lost';

const problemOf = ({ check, message, next }: Trouble): Problem => ({ ...wrong(message, next), check });

/**
 * Judges both sides together. Pure.
 * @param objects - what was found in Kubernetes beside that
 */
export function judgeHub(
  bus: BusSide,
  kubernetes: KubernetesSide,
  objects: readonly Problem[] = [],
): HubStatus {
  const { answers, streams, heldEvents } = bus;
  const services = bus.error === undefined ? servicesOf(bus, kubernetes) : [];
  const admissionOk = leastFigureOf(answers, 'approver', 'admissionOk');
  const isAdmissionMissing = (kubernetes.admission ?? []).length > 0 || admissionOk === 0;
  const isAdmissionKnown = kubernetes.admission !== undefined || admissionOk !== undefined;
  const projectorLagSeconds = figureOf(answers, 'projector', 'lagSeconds');
  const outage = figureOf(answers, 'heartbeat', 'outage');
  const held = Object.values(heldEvents ?? {}).reduce<number>((sum, count = 0) => sum + count, 0);
  // Both lie in one stream, and were counted one after the other.
  const deadLetters = streams.DEAD && Math.max(0, streams.DEAD.messages - held);
  const eventsUsedPercent = figureOf(answers, 'registrar', 'eventsUsedPercent');
  const troubles = troublesOf(bus, kubernetes);
  const problems = [
    ...troubles.filter(isCause).map(problemOf),
    ...unasked(bus, kubernetes),
    ...services.flatMap(serviceProblems),
    ...admissionProblems(kubernetes.admission ?? []),
    ...troubles.filter((one) => !isCause(one)).map(problemOf),
    ...objects,
    ...clusterProblems(clusterCounts(answers)),
    ...(outage === 1
      ? [
          wrong(
            'a large part of the fleet is silent together; transitions are held',
            "That is most likely the hub's own network.",
          ),
        ]
      : []),
    ...(deadLetters !== undefined && deadLetters > 0
      ? [wrong(`${deadLetters} dead letters`, '`rollcall dead list -o wide` says which and why.')]
      : []),
    ...(heldEvents !== undefined && held > 0
      ? [
          wrong(
            `events are held for a newer version (${heldText(heldEvents)})`,
            'Upgrade the hub (docs/upgrading.md).',
          ),
        ]
      : []),
    ...(eventsUsedPercent !== undefined && eventsUsedPercent >= fullFromPercent
      ? [
          wrong(
            `the disk for the events is ${eventsUsedPercent} % full: new requests are refused`,
            eventsUsedPercent < 100
              ? errorCatalogue.HUB_FULL.hint
              : `${errorCatalogue.HUB_FULL.hint} ${givenUp}`,
          ),
        ]
      : []),
    ...(projectorLagSeconds !== undefined && projectorLagSeconds > tolerableLagSeconds
      ? [
          wrong(
            `what Kubernetes shows is ${projectorLagSeconds.toFixed(1)} s behind`,
            'Look at the API server first, then at the log of the projector.',
          ),
        ]
      : []),
  ];
  return {
    version: rollcallVersion,
    kubernetes: {
      server: kubernetes.server,
      version: kubernetes.version,
      isAway: kubernetes.error !== undefined,
    },
    nats: {
      ...(bus.server === undefined ? {} : { server: bus.server }),
      ...(bus.version === undefined ? {} : { version: bus.version }),
    },
    services,
    clusters: clusterCounts(answers),
    outage: outage === undefined ? undefined : outage === 1,
    waitingRequests: figureOf(answers, 'projector', 'waitingRequests'),
    oldestWaitingSeconds: figureOf(answers, 'projector', 'oldestWaitingSeconds'),
    heldOperations: kubernetes.held && { id: kubernetes.held.id, count: kubernetes.held.operations.length },
    mutators: kubernetes.mutators,
    admission: isAdmissionKnown ? (isAdmissionMissing ? 'missing' : 'in place') : undefined,
    streams,
    deadLetters,
    heldEvents,
    eventsUsedPercent,
    projectorLagSeconds,
    problems,
  };
}
