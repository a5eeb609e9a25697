import { type ClusterRow, clusterStates } from './cluster-row.ts';

/** `set:shops state:unknown region=eu edge`: every word has to fit. */
export interface ClusterFilter {
  matches(row: ClusterRow): boolean;
}

const has = (text: string | undefined, part: string): boolean => text?.toLowerCase().includes(part) ?? false;

type Test = (row: ClusterRow) => boolean;

const keyed: Readonly<Record<string, (value: string) => Test>> = {
  set: (value) => (row) => (row.set ?? '').toLowerCase() === value,
  server: (value) => (row) => row.server?.toLowerCase() === value,
  state: (value) => (row) => row.state.toLowerCase() === value,
  version: (value) => (row) => row.version?.toLowerCase().startsWith(value) ?? false,
  reason: (value) => (row) => row.reason.toLowerCase() === value,
  is: (value) => (row) => value === 'cordoned' && row.isCordoned === true,
};

function testOf(word: string): Test {
  const [, key = '', value = ''] = /^([a-z]+):(.*)$/.exec(word) ?? [];
  const test = Object.hasOwn(keyed, key) ? keyed[key] : undefined;
  if (test) return test(value);
  const [label = '', wanted] = word.split('=', 2);
  if (wanted !== undefined && label !== '')
    return ({ labels = {} }) =>
      Object.entries(labels).some(
        ([name, is]) => name.toLowerCase() === label && is.toLowerCase() === wanted,
      );
  return (row) => has(row.name, word) || has(row.id, word) || has(row.reason, word) || has(row.message, word);
}

export const wordsOf = (query: string): string[] => query.split(/\s+/).filter(Boolean);

export function clusterFilter(query: string): ClusterFilter {
  const tests = wordsOf(query.toLowerCase()).map(testOf);
  return { matches: (row) => tests.every((test) => test(row)) };
}

/** Puts a word into a query, or takes it out where it is in; another word with the same key goes. */
export function withWord(query: string, word: string): string {
  const words = wordsOf(query);
  if (words.includes(word)) return words.filter((one) => one !== word).join(' ');
  const key = word.slice(0, word.indexOf(':') + 1);
  return [...words.filter((one) => key === '' || !one.startsWith(key)), word].join(' ');
}

export const noneInAnyState = (): Record<ClusterRow['state'], number> =>
  Object.fromEntries(clusterStates.map((state) => [state, 0])) as Record<ClusterRow['state'], number>;
