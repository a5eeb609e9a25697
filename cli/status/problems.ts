import { errorCatalogue } from '@rollcall/shared/errors';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { figureOf, isNeeded } from './ask-services.ts';
import type { BusSide, KubernetesSide } from './read-sides.ts';
import { streamNames } from './stream-sizes.ts';

/** Something that somebody should look at. */
export interface Problem {
  readonly text: string;
  readonly next: string;
  /** unknown: it could not be asked, so nobody can say that it is well. */
  readonly severity: 'wrong' | 'unknown';
  /** Which look found it, of those that `rollcall doctor` has as well. */
  readonly check?: string;
}

export interface ServiceLine {
  readonly name: string;
  readonly replicas: number;
  readonly ready: number;
  readonly versions: readonly string[];
}

export const wrong = (text: string, next: string): Problem => ({ text, next, severity: 'wrong' });
const unknown = (text: string, next: string): Problem => ({ text, next, severity: 'unknown' });

export function serviceProblems({ name, replicas, ready, versions }: ServiceLine): Problem[] {
  if (replicas === 0 && !isNeeded(name)) return [];
  if (replicas === 0)
    return [
      wrong(
        `${name} does not answer`,
        `Start it, and read its log: \`rollcall serve ${name}\`, or Deployment rollcall-${name}.`,
      ),
    ];
  return [
    ...(ready < replicas
      ? [
          wrong(
            ready === 0
              ? `${name} is not ready`
              : `${replicas - ready} of ${replicas} replicas of ${name} are not ready`,
            'Its /readyz and its log say why.',
          ),
        ]
      : []),
    ...versions
      .filter((version) => version !== rollcallVersion)
      .map((version) =>
        wrong(
          `${name} runs version ${version}, this command is ${rollcallVersion}`,
          'Run one version everywhere (docs/upgrading.md).',
        ),
      ),
  ];
}

/** Whoever took them all down needs no list. */
const mostAdmissionFindings = 5;

/** @param findings - what is missing of the admission policies, or was changed */
export function admissionProblems(findings: readonly string[]): Problem[] {
  const { hint } = errorCatalogue.ADMISSION_MISSING;
  if (findings.length <= mostAdmissionFindings) return findings.map((text) => wrong(text, hint));
  const more = findings.length - 1;
  return [wrong(`${findings[0]}; ${more} more of the admission policies and their bindings`, hint)];
}

/** Of members: what their own agents, or their silence, say. */
const unwellStates = ['unreachable', 'stopped', 'member API down', 'flapping'] as const;

export function clusterProblems(counts: Readonly<Record<string, number>> | undefined): Problem[] {
  const unwell = unwellStates.flatMap((state) => (counts?.[state] ? [`${counts[state]} ${state}`] : []));
  const suspect = counts?.suspect ?? 0;
  return [
    ...(unwell.length === 0
      ? []
      : [
          wrong(
            `clusters are not well: ${unwell.join(', ')}`,
            '`rollcall get clusters` shows which, `rollcall describe cluster NAME` says why.',
          ),
        ]),
    ...(suspect === 0
      ? []
      : [
          unknown(
            `clusters that are not heard just now: ${suspect} suspect`,
            'They come back, or become Unreachable after their grace; `rollcall top` shows it.',
          ),
        ]),
  ];
}

/** What was asked for and not answered: without it nobody can say that all is well. */
export function unasked(bus: BusSide, kubernetes: KubernetesSide): Problem[] {
  const lacking = streamNames.filter((name) => bus.streams[name] === undefined);
  const isAdmissionUnknown =
    kubernetes.admission === undefined && figureOf(bus.answers, 'approver', 'admissionOk') === undefined;
  const credentials =
    'Give credentials that may read them (`--creds` inspector.creds of the hub); if these may, look at JetStream of the NATS server.';
  return [
    ...(bus.error === undefined ? [] : [unknown(`the bus: ${bus.error}`, bus.next ?? '')]),
    ...(bus.error === undefined && lacking.length > 0
      ? [unknown(`streams that could not be looked at: ${lacking.join(', ')}`, credentials)]
      : []),
    ...(bus.error === undefined && bus.heldEvents === undefined
      ? [unknown('whether events are held could not be looked at', credentials)]
      : []),
    ...(kubernetes.error === undefined
      ? []
      : [unknown(`the API server: ${kubernetes.error}`, kubernetes.next ?? '')]),
    ...(kubernetes.admissionError !== undefined && isAdmissionUnknown
      ? [unknown(`the admission policies could not be looked at: ${kubernetes.admissionError}`, mayLook)]
      : []),
    ...(kubernetes.mutatorsError === undefined
      ? []
      : [
          unknown(
            `mutating admission of others could not be looked at: ${kubernetes.mutatorsError}`,
            mayLook,
          ),
        ]),
    ...(kubernetes.heldError === undefined
      ? []
      : [unknown(`held operations could not be looked at: ${kubernetes.heldError}`, mayLook)]),
  ];
}

const mayLook =
  '`rollcall doctor` says which rights you have, and whether the API server answers; ClusterRole rollcall-viewer has those that this needs.';
