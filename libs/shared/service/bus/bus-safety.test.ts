import { expect, test } from 'vitest';
import { isServerNewEnough } from './bus-safety.ts';

test.each([
  { version: '2.15.2', want: true },
  { version: '2.15.10', want: true },
  { version: '2.16.0', want: true },
  { version: '3.0.0', want: true },
  { version: '2.15.1', want: false },
  { version: '2.9.99', want: false },
  { version: '1.99.99', want: false },
  { version: '2.15.2-beta.1', want: false },
  { version: '2.15.3-beta.1', want: true },
  { version: 'unknown', want: false },
  { version: '', want: false },
])('nats-server $version is new enough: $want', ({ version, want }) => {
  expect(isServerNewEnough(version)).toBe(want);
});
