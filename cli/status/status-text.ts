import { formatDuration } from '@rollcall/shared/config';
import { renderTable } from '../get/table.ts';
import { printable } from '../terminal/printable.ts';
import { heldText, type HubStatus } from './hub-status.ts';
import { bytesText, streamNames } from './stream-sizes.ts';

const width = 18;
const unknown = 'not known';

export interface StatusLine {
  readonly name: string;
  readonly value: string;
}

const line = (name: string, value: string): StatusLine => ({ name, value });

/** `3 ready, 1 unreachable`, without the states that no cluster is in. */
function countsText(counts: Readonly<Record<string, number>> | undefined): string {
  if (counts === undefined) return unknown;
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  return some.length === 0 ? 'none' : some.map(([state, count]) => `${count} ${state}`).join(', ');
}

export function waitingText(count: number | undefined, oldestSeconds: number | undefined): string {
  if (count === undefined) return unknown;
  if (count === 0) return 'none';
  const oldest =
    oldestSeconds === undefined ? '' : `, the oldest for ${formatDuration(oldestSeconds * 1000)}`;
  return `${count}${oldest}`;
}

function streamsText({ streams }: HubStatus): string {
  const parts = streamNames.flatMap((name) => {
    const size = streams[name];
    return size ? [`${name} ${size.messages} (${bytesText(size.bytes)})`] : [];
  });
  return parts.length === 0 ? unknown : parts.join(', ');
}

/** What is asked of every hub, and what it says. */
export function statusLines(status: HubStatus): StatusLine[] {
  const { kubernetes, nats } = status;
  return [
    line(
      'Kubernetes',
      `${kubernetes.server} ${kubernetes.version ?? (kubernetes.isAway ? '(away)' : '(does not tell its version)')}`,
    ),
    line('NATS', `${nats.server ?? ''} ${nats.version ?? '(away)'}`.trim()),
    line('Clusters', countsText(status.clusters)),
    line('Waiting requests', waitingText(status.waitingRequests, status.oldestWaitingSeconds)),
    line('Admission', status.admission ?? unknown),
    ...(status.mutators?.length ? [line('Mutating', status.mutators.join(', '))] : []),
    line('Streams', streamsText(status)),
    line(
      'Space for events',
      status.eventsUsedPercent === undefined ? unknown : `${status.eventsUsedPercent} % used`,
    ),
    line('Dead letters', status.deadLetters === undefined ? unknown : String(status.deadLetters)),
    line('Held events', status.heldEvents === undefined ? unknown : heldText(status.heldEvents) || 'none'),
    line(
      'Projector lag',
      status.projectorLagSeconds === undefined ? unknown : `${status.projectorLagSeconds.toFixed(3)} s`,
    ),
  ];
}

/** The status as people read it: services, fleet, then what is not as it should be. */
export function statusText(status: HubStatus): string {
  const { services } = status;
  const rows = services.map(({ name, replicas, ready, versions }) => ({
    cells: [name, `${ready}/${replicas}`, versions.join(',')],
    object: { metadata: { name } },
  }));
  const columnDefinitions = [{ name: 'Service' }, { name: 'Ready' }, { name: 'Version' }];
  return [
    ...statusLines(status).map(({ name, value }) => `${`${name}:`.padEnd(width)}${printable(value)}`),
    ...(rows.length === 0
      ? []
      : ['', renderTable({ columnDefinitions, rows }, { wide: false, withNamespace: false })]),
    '',
    ...(status.problems.length === 0
      ? ['Everything is as it should be.']
      : [
          status.problems.every(({ severity }) => severity === 'unknown')
            ? 'Nobody can say that all is well:'
            : 'Not as it should be:',
          ...status.problems.map(({ text, next }) => `  - ${printable(text)}\n    → ${printable(next)}`),
          'See also: rollcall doctor',
        ]),
  ].join('\n');
}
