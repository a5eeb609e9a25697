import { styleText } from 'node:util';
import type { Cause, StoredEvent } from '@rollcall/shared/events';
import { printable } from '../terminal/printable.ts';

/** What the heartbeat service says on `rollcall.live.<clusterId>`; not stored. */
export interface LiveMessage {
  readonly clusterId: string;
  readonly state: string;
  readonly reason: string;
  readonly atMs: number;
}

export interface LineStyle {
  /** Also which event of the stream it is, who wrote it, and what it belongs to. */
  readonly isWide?: boolean;
  /** Colours for people at a terminal. */
  readonly hasColour: boolean;
  /** Of a cluster id, where it is known. */
  readonly clusterName?: string | undefined;
}

type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'cyan';

const colours: Readonly<Record<string, Colour>> = {
  approved: 'green',
  admitted: 'green',
  joined: 'green',
  ready: 'green',
  held: 'yellow',
  suspect: 'yellow',
  outage: 'yellow',
  refused: 'red',
  denied: 'red',
  revoked: 'red',
  banned: 'red',
  unreachable: 'red',
  'provisioning-failed': 'red',
};

const typeWidth = 24;
const whoWidth = 26;

/** Who caused it, in few words: a person, a rule, or a service by its own rules. */
export function causeText(by: Cause | undefined): string {
  if (!by) return '';
  if (by.person !== undefined) return `by ${by.person}`;
  if (by.policy !== undefined) return `by policy ${by.policy}${by.rule === undefined ? '' : `/${by.rule}`}`;
  return '';
}

/** Enough of an id to recognise it; names are shown whole. */
function who(id: string, clusterName: string | undefined): string {
  const short = id.length > 20 ? id.slice(0, 8) : id;
  return printable(clusterName === undefined || clusterName === id ? short : `${clusterName} (${short})`);
}

function line(
  parts: { atMs: number; type: string; who: string; rest: string; colour: Colour | undefined },
  hasColour: boolean,
): string {
  const paint = (colour: Colour | undefined, text: string) =>
    hasColour && colour ? styleText(colour, text, { validateStream: false }) : text;
  const time = new Date(parts.atMs).toISOString();
  return [
    paint('dim', time),
    paint(parts.colour, parts.type.padEnd(typeWidth)),
    parts.who.padEnd(whoWidth),
    parts.rest,
  ]
    .join('  ')
    .trimEnd();
}

/** One event in one line: when, what, who, by whom, why. */
export function eventLine(event: StoredEvent, { hasColour, isWide, clusterName }: LineStyle): string {
  const more = `[${event.sequence} ${event.definition.writer} ${event.correlation}]`;
  const rest = [causeText(event.by), `${event.reason}: ${event.message}`]
    .filter((text) => text !== '')
    .join(', ');
  return line(
    {
      atMs: event.timeMs,
      type: `${event.kind}.${event.type}`,
      who: who(event.id, clusterName),
      rest: printable(isWide ? `${more} ${rest}` : rest),
      colour: colours[event.type],
    },
    hasColour,
  );
}

/** What is heard now and may pass without being stored. */
export function liveLine(
  { clusterId, state, reason, atMs }: LiveMessage,
  { hasColour, clusterName }: LineStyle,
): string {
  return line(
    {
      atMs,
      type: `live ${printable(state)}`,
      who: who(clusterId, clusterName),
      rest: printable(reason),
      colour: colours[state] ?? 'cyan',
    },
    hasColour,
  );
}
