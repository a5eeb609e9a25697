import { expect, test } from 'vitest';
import { parseLabels } from './labels-flag.ts';

test.each([
  { text: '', want: {} },
  { text: 'region=eu', want: { region: 'eu' } },
  { text: ' region=eu , example.org/env=prod,', want: { region: 'eu', 'example.org/env': 'prod' } },
  { text: 'empty=', want: { empty: '' } },
])('"$text" is read', ({ text, want }) => {
  expect(parseLabels(text)).toEqual(want);
});

test.each(['region', '=eu', 'a=b=c', 'bad key=x', '-a=b', 'a=b c', `a=${'x'.repeat(64)}`, 'UPPER.org/a=b'])(
  '"%s" is refused',
  (text) => {
    expect(() => parseLabels(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  },
);
