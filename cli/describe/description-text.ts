import type { LivenessState } from '@rollcall/shared/events';
import { printableLine } from '@rollcall/shared/text';
import { causeText } from '../events/event-line.ts';
import { printable } from '../terminal/printable.ts';
import type { ClusterDescription } from './cluster-description.ts';
import { nextSteps } from './next-steps.ts';

const width = 18;

type Value = string | number | boolean | undefined;

/** `Name:   value` lines; what is not known is left out. */
function fields(pairs: readonly (readonly [string, Value])[], indent = ''): string[] {
  return pairs
    .filter(([, value]) => value !== undefined && value !== '')
    .map(
      ([name, value]) => `${indent}${`${name}:`.padEnd(width - indent.length)}${printable(String(value))}`,
    );
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines];
}

const pairs = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

function decisionLines({ decision }: ClusterDescription): string[] {
  if (!decision) return [];
  const { verdict, by, at, reason, message, isAboutThisRequest } = decision;
  const who = causeText(by).replace(/^by /, '') || (by.service ?? 'unknown');
  return fields(
    [
      ['Verdict', isAboutThisRequest ? verdict : `${verdict} (of an earlier request)`],
      ['By', by.generation === undefined ? who : `${who} (generation ${by.generation})`],
      ['At', at],
      ['Why', `${reason}: ${message}`],
    ],
    '  ',
  );
}

function requestLines({ request }: ClusterDescription): string[] {
  if (!request) return [];
  const { id, at, token, keyFingerprint, droppedLabels, refusal } = request;
  return fields(
    [
      ['Id', id],
      ['At', at],
      ['Token', token],
      ['Key', keyFingerprint],
      [
        'Labels refused',
        droppedLabels.length === 0
          ? ''
          : `${droppedLabels.join(',')} (not allowed by the token, reserved, or no label)`,
      ],
      ['Refused', refusal && `${refusal.code}: ${refusal.message}`],
    ],
    '  ',
  );
}

function credentialLines({ credentials }: ClusterDescription): string[] {
  const { keyFingerprint, admittedAt, revoked } = credentials;
  return fields(
    [
      ['Key', keyFingerprint],
      ['Issued', admittedAt && `first at ${admittedAt}; renewals are not kept`],
      ...revoked.map((one) => ['Revoked', `${one.keyFingerprint} at ${one.at}`] as const),
    ],
    '  ',
  );
}

function factLines({ facts }: ClusterDescription): string[] {
  if (!facts) return [];
  const { nodes, capacity = {}, readyz, nodeLabels = {}, claims = [] } = facts;
  return fields(
    [
      ['Kubernetes', facts.kubernetesVersion],
      ['Platform', facts.platform],
      ['Provider', [facts.provider, facts.region].filter(Boolean).join(' ')],
      ['API server', facts.apiServerURL],
      ['Readyz', readyz],
      ['Nodes', nodes && `${nodes.ready} of ${nodes.total} ready, ${nodes.schedulable} schedulable`],
      ['Capacity', pairs(capacity)],
      ['Pod CIDRs', facts.podCIDRs?.join(',')],
      ['Service CIDRs', facts.serviceCIDRs?.join(',')],
      ['Node labels', pairs(nodeLabels)],
      ['Claims', claims.map(({ name, value }) => `${name}=${value}`).join(',')],
      ['Agent', facts.agentVersion],
    ],
    '  ',
  );
}

function conditionLines({ conditions }: ClusterDescription): string[] {
  const rows = conditions.map(({ type, status, reason, lastTransitionTime, message }) =>
    [type, status, reason, lastTransitionTime, message].map(printable),
  );
  if (rows.length === 0) return [];
  const all = [['TYPE', 'STATUS', 'REASON', 'SINCE', 'MESSAGE'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2)).join('')}`.trimEnd(),
  );
}

const timelineLength = 30;

function timelineLines({ timeline }: ClusterDescription, all: boolean): string[] {
  const shown = all ? timeline : timeline.slice(-timelineLength);
  const left = timeline.length - shown.length;
  return [
    ...(left === 0 ? [] : [`  (${left} earlier; --all shows them)`]),
    ...shown.map(({ at, type, by, reason, message }) => {
      const cause = causeText(by);
      return (
        printable(`${at} ${type.padEnd(19)}`)
          .replace(/^/, '  ')
          .padEnd(46) + printable(`${cause === '' ? '' : `${cause}, `}${reason}: ${message}`)
      );
    }),
  ];
}

/** Its heartbeats come, whatever else is wrong. */
const heardStates: ReadonlySet<string> = new Set<LivenessState>(['ready', 'memberDown', 'flapping']);

/** The description as people read it, from who it is to what to do. */
export function descriptionText(
  description: ClusterDescription,
  options: { all: boolean; isPast?: boolean },
): string {
  const { liveness, namespace, labels } = description;
  // What to do is said of what is so now.
  const steps = options.isPast ? [] : nextSteps(description);
  return [
    ...fields([
      ['Name', description.clusterName],
      ['Cluster ID', description.clusterId],
      ['Client ID', description.clientId === description.clusterId ? undefined : description.clientId],
      [
        'State',
        liveness && description.phase === liveness.state
          ? `${liveness.state} (${liveness.cause}) since ${liveness.since}`
          : description.phase,
      ],
      [
        'Last heartbeat',
        liveness &&
          (heardStates.has(liveness.state)
            ? `live (stored: ${liveness.lastHeartbeat})`
            : liveness.lastHeartbeat),
      ],
      ['Joined', liveness?.joinedAt],
      ['Namespace', namespace && `${namespace.name} (${namespace.state}; access ${namespace.access})`],
      ['Problem', namespace?.problem],
      ['Set', description.clusterSet],
      ['Labels', pairs(labels)],
      ['Cordoned', description.schedulable ? undefined : 'yes: other tools should place nothing new here'],
    ]),
    ...section('Request', requestLines(description)),
    ...section('Decision', decisionLines(description)),
    ...section('Credentials', credentialLines(description)),
    ...section('Reported', factLines(description)),
    ...section('Conditions', conditionLines(description)),
    ...section('Timeline', timelineLines(description, options.all)),
    ...section(
      'Refused for its name',
      description.attempts
        .map(({ clusterId, reason, message }) => printable(`${clusterId} ${reason}: ${message}`))
        .map((line) => `  ${line}`),
    ),
    ...section(
      'Not known',
      description.missing.map(({ source, why }) => `  ${source}: ${printable(why)}`),
    ),
    ...section(
      'Next',
      // Commands stand in them, in which two blanks are not one.
      steps.map((step) => `  - ${printableLine(step)}`),
    ),
  ].join('\n');
}
