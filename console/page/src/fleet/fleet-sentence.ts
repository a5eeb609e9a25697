import type { ClusterRow, ClusterState, RequestRow } from '../../../rows/index.ts';
import { whenText } from '../parts/when.ts';
import { counted, numberText } from '../parts/state-words.ts';

export interface SentencePart {
  readonly text: string;
  readonly tone?: ClusterState;
  readonly cluster?: string;
  readonly id?: string;
}

export interface FleetSentence {
  readonly parts: readonly SentencePart[];
  readonly next: string;
}

const plain = (text: string): SentencePart => ({ text });

function newestMs(rows: readonly ClusterRow[]): number {
  return rows.reduce((newest, { sinceMs }) => Math.max(newest, sinceMs), 0);
}

/** `a`, `a and b`, `a, b and c`; of more the number. */
function named(rows: readonly ClusterRow[], tone: ClusterState): SentencePart[] {
  if (rows.length > 3) return [{ text: counted(rows.length, 'cluster'), tone }];
  return rows.flatMap(({ name, id }, index) => [
    ...(index === 0 ? [] : [plain(index === rows.length - 1 ? ' and ' : ', ')]),
    { text: name, tone, cluster: name, ...(id === undefined ? {} : { id }) },
  ]);
}

const are = (rows: readonly unknown[]): string => (rows.length === 1 ? 'is' : 'are');

function outageSentence(held: readonly ClusterRow[], nowMs: number): FleetSentence {
  const [set, ...others] = [...new Set(held.map((row) => row.set ?? ''))];
  const where = set !== undefined && set !== '' && others.length === 0 ? ` of set “${set}”` : '';
  return {
    parts: [
      { text: `${counted(held.length, 'cluster')}${where} fell silent together`, tone: 'unknown' },
      plain(` ${whenText(newestMs(held), nowMs)}. Nobody is called dead: the hub holds them as one outage.`),
    ],
    next: 'Most likely it is the network of the hub itself. `rollcall status` says what the hub hears.',
  };
}

/** Who is Ready has nothing to tell, and is only counted. */
export interface FleetInShort {
  readonly ready: number;
  readonly others: readonly ClusterRow[];
  readonly requests: readonly RequestRow[];
}

/** How the fleet is, in one sentence: the worst that is so now, and what to do about it. */
export function fleetSentence({ ready, others, requests }: FleetInShort, nowMs: number): FleetSentence {
  const of = (state: ClusterState) => others.filter((row) => row.state === state);
  const [notReady, unknown, expected] = [of('notReady'), of('unknown'), of('expected')];
  const held = unknown.filter(({ reason }) => reason === 'OutageHeld');
  if (ready + others.length === 0)
    return {
      parts: [plain('No cluster has joined yet.')],
      next:
        requests.length > 0
          ? 'Somebody asks to come in: look at Requests.'
          : '`rollcall token create --print-register-command` prints what to run for the first one.',
    };
  if (held.length > 0) return outageSentence(held, nowMs);
  const [only] = notReady;
  if (only && notReady.length === 1)
    return {
      parts: [...named(notReady, 'notReady'), plain(` is not Ready: ${only.message ?? only.reason}.`)],
      next: 'Open it: its page says what to look at first.',
    };
  if (notReady.length > 0)
    return {
      parts: [...named(notReady, 'notReady'), plain(` ${are(notReady)} not Ready.`)],
      next: 'The table below has each with its reason; those that fell out together share one.',
    };
  if (unknown.length > 0)
    return {
      parts: [
        ...named(unknown, 'unknown'),
        plain(
          ` ${unknown.length === 1 ? 'has' : 'have'} just fallen silent; the hub waits before it says more.`,
        ),
      ],
      next: 'Nothing to do yet: most of them come back within the grace.',
    };
  if (ready === 0 && expected.length > 0)
    return {
      parts: [...named(expected, 'expected'), plain(` ${are(expected)} expected and not heard yet.`)],
      next: '`rollcall token create --print-register-command` prints what to run in a cluster.',
    };
  if (ready === 0) return { parts: [plain('No cluster is in: all of them are out.')], next: '' };
  const all = ready === 1 ? 'The one member is well.' : `All ${numberText(ready)} members are well.`;
  return { parts: [{ text: all, tone: 'ready' }], next: requests.length > 0 ? '' : 'Nothing to do.' };
}
