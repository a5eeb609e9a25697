import fc from 'fast-check';
import { expect, test } from 'vitest';
import { highlightPolicy, offsetOf, type Part } from './highlight-policy.ts';

const shortly = (parts: readonly Part[] = []) =>
  parts.filter(({ text }) => text.trim() !== '').map(({ text, tone }) => `${tone ?? 'plain'} ${text.trim()}`);

test.each([
  { line: 'apiVersion: rollcall.dev/v1alpha1', want: ['key apiVersion:', 'plain rollcall'] },
  { line: '    - name: "ask: a person" # why', want: ['key - name:', 'text "ask: a person"', 'note # why'] },
  { line: '      effect: Hold', want: ['key effect:', 'word Hold'] },
  {
    line: "request.labels.region in ['eu', 7]",
    want: ['root request', 'plain .', 'plain labels', 'plain .', 'plain region', 'word in', 'plain ['],
  },
  { line: 'requested: tokens', want: ['key requested:', 'plain tokens'] },
])('$line', ({ line, want }) => {
  expect(shortly(highlightPolicy(line, [])[0])).toEqual(expect.arrayContaining(want));
});

test('a mistake is marked where it is, and one behind the end at the last part', () => {
  const text = 'spec:\n  when: request.nme == 1';
  const marked = (column: number) =>
    highlightPolicy(text, [{ line: 2, column, severity: 'error', message: '' }])
      .flat()
      .filter(({ severity }) => severity === 'error')
      .map((part) => part.text);
  expect(marked(17)).toEqual(['nme']);
  expect(marked(99)).toEqual(['1']);
  expect(text.slice(offsetOf(text, { line: 2, column: 17 }))).toBe('nme == 1');
});

test('the parts together are the text, whatever it is and whatever is wrong with it', () => {
  const finding = fc.record({
    line: fc.integer({ min: 1, max: 9 }),
    column: fc.integer({ min: 1, max: 99 }),
    severity: fc.constantFrom('error' as const, 'warning' as const),
    message: fc.string(),
  });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(finding), (text, findings) => {
      const lines = highlightPolicy(text, findings).map((parts) => parts.map((part) => part.text).join(''));
      expect(lines.join('\n')).toBe(text);
      for (const place of findings) expect(offsetOf(text, place)).toBeLessThanOrEqual(text.length);
    }),
  );
});
