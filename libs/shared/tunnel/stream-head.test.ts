import { expect, test } from 'vitest';
import { decodeFrame, encodeFrame } from './frame.ts';
import { readStreamRequest, readStreamResponse, streamVersion } from './stream-head.ts';

const asBytes = (value: object) => Buffer.from(JSON.stringify(value));

test.each([
  { method: 'GET', isOne: true },
  { method: 'CONNECT', isOne: false },
])('$method: is a request that is passed on: $isOne', ({ method, isOne }) => {
  const place = { version: streamVersion, gateway: 'g', stream: 's' };
  const request = { ...place, method, path: '/', headers: [], hasBody: false, user: 'alice', groups: [] };
  expect(readStreamRequest(asBytes(request)) !== undefined).toBe(isOne);
});

const wild = 'no\u001b]0;owned\u0007 “Zoë”\r\n\u202eend';
const tame = 'no ]0;owned  “Zoë” end';

test('what an agent says why steers no terminal', () => {
  expect(readStreamResponse(asBytes({ refused: 'member', why: wild }))).toEqual({
    refused: 'member',
    why: tame,
  });
  expect(decodeFrame(encodeFrame({ kind: 'abort', reason: wild }, 0))?.frame).toEqual({
    kind: 'abort',
    reason: tame,
  });
});
