import { expect, test } from 'vitest';
import { sentencesOf } from './sentences.ts';

test.each([
  { name: 'one sentence', text: 'The hub listens.', want: ['The hub listens.'] },
  { name: 'no full stop at all', text: 'The hub listens', want: ['The hub listens'] },
  { name: 'two', text: 'The hub listens. It waits.', want: ['The hub listens.', 'It waits.'] },
  { name: 'a question and a call', text: 'Who? You! Now.', want: ['Who?', 'You!', 'Now.'] },
  {
    name: 'a number first',
    text: 'It waits. 45 s later it ends.',
    want: ['It waits.', '45 s later it ends.'],
  },
  { name: 'code first', text: 'It ends. `npm start` goes on.', want: ['It ends.', '`npm start` goes on.'] },
  {
    name: 'a link first',
    text: 'They last. [events/](a.md) has them.',
    want: ['They last.', '[events/](a.md) has them.'],
  },
  { name: 'stress first', text: 'It asks. **Then** it waits.', want: ['It asks.', '**Then** it waits.'] },
  {
    name: 'a sentence in stress',
    text: '**It asks. It waits.** Then?',
    want: ['**It asks.', 'It waits.**', 'Then?'],
  },
  { name: 'a quote', text: 'It says "no." Then it ends.', want: ['It says "no."', 'Then it ends.'] },
  {
    name: 'a sentence in brackets of its own',
    text: 'It asks. (It waits.) Then?',
    want: ['It asks.', '(It waits.)', 'Then?'],
  },
  {
    name: 'two sentences in brackets',
    text: 'It (the hub. The one.) waits.',
    want: ['It (the hub. The one.) waits.'],
  },
  { name: 'the text of a link', text: 'See [Why. How.](a.md) here.', want: ['See [Why. How.](a.md) here.'] },
  {
    name: 'a bracket that nothing closes',
    text: 'It is in (0, 1. Then it ends.',
    want: ['It is in (0, 1.', 'Then it ends.'],
  },
  {
    name: 'sentences in code',
    text: 'It prints `Done. Next.` there.',
    want: ['It prints `Done. Next.` there.'],
  },
  {
    name: 'a bracket in code',
    text: 'It prints `a(`. Then it ends.',
    want: ['It prints `a(`.', 'Then it ends.'],
  },
  { name: 'a full stop in code', text: 'A tick ``a`. B`` is code.', want: ['A tick ``a`. B`` is code.'] },
  {
    name: 'a version',
    text: 'This is 0.1. It works with 1.28 or newer.',
    want: ['This is 0.1.', 'It works with 1.28 or newer.'],
  },
  {
    name: 'code with dots',
    text: 'It reads `a.b.C` and nats.js too.',
    want: ['It reads `a.b.C` and nats.js too.'],
  },
  {
    name: 'an address',
    text: 'At https://a.example/B.html? No.',
    want: ['At https://a.example/B.html?', 'No.'],
  },
  { name: 'a lower case letter', text: 'It waits ca. five seconds.', want: ['It waits ca. five seconds.'] },
  { name: 'e.g.', text: 'A cluster, e.g. Edge, asks.', want: ['A cluster, e.g. Edge, asks.'] },
  {
    name: 'i.e. after a bracket',
    text: 'A member (i.e. A cluster) asks.',
    want: ['A member (i.e. A cluster) asks.'],
  },
  {
    name: 'etc. and vs.',
    text: 'NATS, etc. Kubernetes vs. Karmada.',
    want: ['NATS, etc. Kubernetes vs. Karmada.'],
  },
  {
    name: 'dots that leave out',
    text: 'It waits ... Then … It ends.',
    want: ['It waits ... Then … It ends.'],
  },
  { name: 'a label', text: '**Why.** It is short.', want: ['**Why.** It is short.'] },
  { name: 'more spaces', text: 'It asks.  It waits.', want: ['It asks.', 'It waits.'] },
  {
    name: 'what would begin a list',
    text: 'It has steps. 2) Ask. - Wait.',
    want: ['It has steps. 2) Ask. - Wait.'],
  },
])('sentences: $name', ({ text, want }) => {
  expect(sentencesOf(text)).toEqual(want);
});
