import { expect, test } from 'vitest';
import { headerPairs, passedBack, passedToMember } from './passed-headers.ts';

test('nothing that says who somebody is, and nothing of the hop, goes on to the member', () => {
  const raw = [
    ['Accept', 'application/json'],
    ['Authorization', 'Bearer x'],
    ['X-Remote-User', 'admin'],
    ['x-remote-group', 'system:masters'],
    ['X-Remote-Extra-Scopes', 'all'],
    ['Impersonate-User', 'system:admin'],
    ['impersonate-group', 'system:masters'],
    ['Impersonate-Extra-x', 'y'],
    ['Connection', 'keep-alive, X-Secret-Hop'],
    ['X-Secret-Hop', '1'],
    ['Transfer-Encoding', 'chunked'],
    ['Upgrade', 'websocket'],
    ['Cookie', 'a=b'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['Content-Length', '3'],
    ['Content-Type', 'application/json'],
  ].flat();
  expect(passedToMember(headerPairs(raw))).toEqual([
    ['Accept', 'application/json'],
    ['Content-Type', 'application/json'],
  ]);
});

test('of the answer stays what the hub does not say itself', () => {
  const raw = [
    'Audit-Id',
    '1',
    'Cache-Control',
    'no-cache',
    'Warning',
    '299 - "old"',
    'Transfer-Encoding',
    'chunked',
    'Content-Length',
    '2',
  ];
  expect(passedBack(headerPairs(raw))).toEqual([['Warning', '299 - "old"']]);
});
