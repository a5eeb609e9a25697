import { expect, test } from 'vitest';
import { parseShown } from './parse-shown.ts';

test.each([
  { name: 'a right-to-left override', said: 'edge\u202egnp', want: String.raw`edge\u202egnp` },
  { name: 'a character without width', said: 'edge\u200b-1', want: String.raw`edge\u200b-1` },
  { name: 'a separator of lines', said: 'one\u2028two', want: String.raw`one\u2028two` },
  { name: 'a tag beyond the first plane', said: 'a\u{e0061}', want: String.raw`a\ue0061` },
  { name: 'an escape that somebody wrote', said: String.raw`\u202e`, want: String.raw`\u202e` },
  { name: 'letters of any script', said: 'مركز “x”\n\\"', want: 'مركز “x”\n\\"' },
])('$name in a text is shown and does nothing', ({ said, want }) => {
  expect(parseShown(JSON.stringify({ [said]: [said] }))).toEqual({ [want]: [want] });
});
