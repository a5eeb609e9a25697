import { expect, test } from 'vitest';
import { type ChainMessage, createChainCheck } from './check-history-chain.ts';
import { digestOf } from './event-digest.ts';

/** A history of two aggregates; each message names the one before it, as `encodeEvent` does. */
function history(): ChainMessage[] {
  const heads = new Map<string, { sequence: number; digest: string }>();
  return ['a', 'b', 'a', 'a', 'b'].map((id, index) => {
    const sequence = index + 1;
    const subject = `rollcall.events.cluster.${id}.held`;
    const previous = heads.get(id);
    const data = new TextEncoder().encode(
      JSON.stringify({ epoch: 1, ...(previous ? { previous } : {}), n: index }),
    );
    heads.set(id, { sequence, digest: digestOf(subject, `id-${sequence}`, data) });
    return { sequence, subject, eventId: `id-${sequence}`, data };
  });
}

const problemsOf = (messages: readonly ChainMessage[], archived?: Parameters<typeof createChainCheck>[0]) => {
  const check = createChainCheck(archived);
  return messages.flatMap((message) => check(message).problems.map(({ kind, sequence }) => [kind, sequence]));
};
const edit = (message: ChainMessage): ChainMessage => ({
  ...message,
  data: new TextEncoder().encode(new TextDecoder().decode(message.data).replace('"epoch":1', '"epoch":9')),
});
const garbage: ChainMessage = {
  sequence: 6,
  subject: 'rollcall.events.cluster.a.ready',
  eventId: '',
  data: new TextEncoder().encode('garbage'),
};
const after = (message: ChainMessage): ChainMessage => {
  const previous = {
    sequence: message.sequence,
    digest: digestOf(message.subject, message.eventId, message.data),
  };
  const data = new TextEncoder().encode(JSON.stringify({ epoch: 1, previous }));
  return { sequence: message.sequence + 1, subject: message.subject, eventId: 'next', data };
};

test.each([
  { name: 'as it was written', messages: history(), want: [] },
  {
    name: 'an event was changed',
    messages: history().with(2, edit(history()[2] as ChainMessage)),
    want: [['broken', 4]],
  },
  {
    name: 'the last event of an aggregate was changed',
    messages: history().with(4, edit(history()[4] as ChainMessage)),
    want: [],
  },
  {
    name: 'an event is missing',
    messages: history().toSpliced(2, 1),
    want: [
      ['missing', 4],
      ['broken', 4],
    ],
  },
  {
    name: 'the first events are missing',
    messages: history().slice(1),
    want: [
      ['missing', 2],
      ['broken', 3],
    ],
  },
  {
    name: 'garbage stands in between, and is followed',
    messages: [...history(), garbage, after(garbage)],
    want: [],
  },
])('a history in which $name', ({ messages, want }) => {
  expect(problemsOf(messages)).toEqual(want);
});

test.each([
  { name: 'an archive has it', total: 1, throughSequence: 3, want: [] },
  { name: 'an archive has earlier ones', total: 1, throughSequence: 2, want: ['missing', 'broken'] },
  { name: 'an archive has another one only', total: 0, throughSequence: 3, want: ['missing'] },
])('an event is missing, and $name', ({ total, throughSequence, want }) => {
  const found = problemsOf(history().toSpliced(2, 1), { total, throughSequence });
  expect(found.map(([kind]) => kind)).toEqual(want);
});

test('what follows an archived event must name one that can be there', () => {
  const [first, , , fourth, fifth] = history() as [
    ChainMessage,
    ChainMessage,
    ChainMessage,
    ChainMessage,
    ChainMessage,
  ];
  // The fourth names the third, which is missing; the fifth an event of its own that is there, under another digest.
  const other = {
    ...fifth,
    data: new TextEncoder().encode('{"previous":{"sequence":1,"digest":"sha256:x"}}'),
  };
  expect(problemsOf([first, fourth, other], { total: 2, throughSequence: 3 })).toEqual([['broken', 5]]);
});
