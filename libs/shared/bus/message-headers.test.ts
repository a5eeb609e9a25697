import { expect, test } from 'vitest';
import { sentOnHeaders } from './message-headers.ts';

test('what the library writes is sent on, and the rest left out', () => {
  const all = { 'ce-id': 'a', 'a b': 'x', é: 'x', line: 'a\nb', 'ce-type': 'b', __proto__x: 'c' };
  const written = sentOnHeaders(all);
  expect(written.keys().toSorted()).toEqual(['__proto__x', 'ce-id', 'ce-type'].toSorted());
  expect(written.get('ce-type')).toBe('b');
});
