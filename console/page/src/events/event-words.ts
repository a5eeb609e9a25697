import type { ClusterState, EventRow } from '../../../rows/index.ts';

/** `cluster.provisioning-failed` as people say it. */
export function titleOf(type: string): string {
  const [kind = '', name = ''] = type.split('.', 2);
  const words = name.replaceAll('-', ' ');
  const text = kind === 'cluster' || kind === 'live' ? words : `${kind} ${words}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const tones: Readonly<Record<string, ClusterState>> = {
  approved: 'ready',
  admitted: 'ready',
  joined: 'ready',
  ready: 'ready',
  unbanned: 'ready',
  'outage-ended': 'ready',
  held: 'expected',
  requested: 'expected',
  suspect: 'unknown',
  outage: 'unknown',
  flapping: 'unknown',
  'bulk-held': 'unknown',
  refused: 'notReady',
  denied: 'notReady',
  revoked: 'notReady',
  banned: 'notReady',
  unreachable: 'notReady',
  stopped: 'notReady',
  'member-down': 'notReady',
  'provisioning-failed': 'notReady',
  'hosting-failed': 'notReady',
};

export const toneOf = (type: string): ClusterState | undefined => tones[type.slice(type.indexOf('.') + 1)];

export const isHeardOnly = (event: EventRow): boolean => event.sequence === undefined;

/** Why, without a reason that only says the type again. */
export function whyOf({ type, reason, message }: Pick<EventRow, 'type' | 'reason' | 'message'>): string {
  const words = type.slice(type.indexOf('.') + 1).replaceAll('-', '');
  if (message === '') return reason;
  return reason.toLowerCase() === words ? message : `${reason}: ${message}`;
}

const has = (text: string | undefined, part: string): boolean => text?.toLowerCase().includes(part) ?? false;

/** `type:approved cluster:edge-1 person:alice rule:default is:live text`: every word has to fit. */
export function eventFilter(query: string): (event: EventRow) => boolean {
  const tests = query
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((word): ((event: EventRow) => boolean) => {
      const [, key, value = ''] = /^(type|cluster|person|rule|is):(.*)$/.exec(word) ?? [];
      if (key === 'type') return ({ type }) => type === value || type.endsWith(`.${value}`);
      if (key === 'cluster') return ({ id, name }) => id === value || name?.toLowerCase() === value;
      if (key === 'person') return ({ person }) => person?.toLowerCase() === value;
      if (key === 'rule') return ({ rule }) => rule === value || (rule?.startsWith(`${value}/`) ?? false);
      if (key === 'is') return (event) => isHeardOnly(event) === (value === 'live');
      return (event) =>
        has(event.name, word) ||
        has(event.id, word) ||
        has(event.type, word) ||
        has(event.reason, word) ||
        has(event.message, word) ||
        has(event.person, word);
    });
  return (event) => tests.every((test) => test(event));
}
