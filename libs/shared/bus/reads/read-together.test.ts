import { expect, test } from 'vitest';
import { mostAnswered, TooManyResults } from './direct-get.ts';
import type { RawMessage } from './raw-message.ts';
import { aggregates, readTogether } from './read-together.ts';

const filterOf = (id: number) => `rollcall.events.cluster.c${id}.*`;

function message(subject: string): RawMessage {
  return { subject, sequence: 1, header: () => '', headerNames: () => [], data: new Uint8Array() };
}

/** Two events of every second cluster, and what was asked for. */
function aStream(how: { mostFilters?: number; error?: Error } = {}) {
  const { mostFilters = Infinity, error } = how;
  const requests: number[] = [];
  const read = readTogether(aggregates, async (filters) => {
    requests.push(filters.length);
    if (error) throw error;
    if (filters.length > mostFilters) throw new TooManyResults('413');
    return ['admitted', 'joined'].flatMap((type) =>
      filters
        .filter((filter) => /[02468]\.\*$/.test(filter))
        .map((filter) => message(filter.replace('*', type))),
    );
  });
  return {
    requests,
    subjectsOf: async (id: number) => (await read(filterOf(id))).map(({ subject }) => subject),
  };
}

const ofCluster = (id: number) => ['admitted', 'joined'].map((type) => filterOf(id).replace('*', type));

test('what is asked for at once is one request, and each is given its own', async () => {
  const { requests, subjectsOf } = aStream();
  const found = await Promise.all([2, 3, 4, 2].map(subjectsOf));
  expect(found).toEqual([ofCluster(2), [], ofCluster(4), ofCluster(2)]);
  expect(requests).toEqual([3]);
});

test('what is asked for later is read later', async () => {
  const { requests, subjectsOf } = aStream();
  await subjectsOf(2);
  expect(await subjectsOf(2)).toEqual(ofCluster(2));
  expect(requests).toEqual([1, 1]);
});

test('many are several requests, and those with more events than one answer holds one each', async () => {
  const ids = Array.from({ length: 30 }, (_, id) => id);
  const wanted = ids.map((id) => (id % 2 === 0 ? ofCluster(id) : []));
  const many = aStream();
  expect(await Promise.all(ids.map(many.subjectsOf))).toEqual(wanted);
  expect(many.requests).toEqual([24, 6]);
  const full = aStream({ mostFilters: 1 });
  expect(await Promise.all(ids.map(full.subjectsOf))).toEqual(wanted);
  expect(full.requests).toHaveLength(32);
});

test('an answer that is full may be a part of more', async () => {
  const requests: number[] = [];
  const read = readTogether(aggregates, async (filters) => {
    requests.push(filters.length);
    const each = filters.length > 1 ? mostAnswered / filters.length : 1;
    return filters.flatMap((filter) =>
      Array.from({ length: each }, () => message(filter.replace('*', 'ready'))),
    );
  });
  const found = await Promise.all([1, 2].map((id) => read(filterOf(id))));
  expect(found.map(({ length }) => length)).toEqual([1, 1]);
  expect(requests).toEqual([2, 1, 1]);
});

test('everybody hears why it cannot be read', async () => {
  const { subjectsOf } = aStream({ error: new TooManyResults('413') });
  const outcomes = await Promise.allSettled([1, 2].map(subjectsOf));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
