import { expect, test } from 'vitest';
import { OpenRequests } from './open-requests.ts';

test('a request is open until its decision, by token and in total', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'T', sequence: 1 });
  requests.begin('two', { tokenId: 'T', sequence: 2 });
  requests.begin('three', { tokenId: 'U', sequence: 3 });
  expect([requests.total, requests.withToken('T'), requests.withToken('U')]).toEqual([3, 2, 1]);
  requests.end('one', 4);
  expect([requests.total, requests.withToken('T')]).toEqual([2, 1]);
});

test('a decision about an earlier request does not end a later one', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'T', sequence: 5 });
  requests.end('one', 4);
  expect(requests.total).toBe(1);
});

test('a decision that is read before its request ends it all the same', () => {
  const requests = new OpenRequests();
  requests.end('one', 9);
  requests.begin('one', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(0);
});

test('an earlier end that is read after a later one changes nothing: types are read one after the other', () => {
  const requests = new OpenRequests();
  requests.end('one', 9);
  requests.end('one', 5);
  requests.begin('one', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(0);
});

test('a cluster that asks again with another token counts once, for that one', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'T', sequence: 1 });
  requests.begin('one', { tokenId: 'U', sequence: 2 });
  expect([requests.total, requests.withToken('T'), requests.withToken('U')]).toEqual([1, 0, 1]);
});

test('what is read again of an older time changes nothing of what was heard since', () => {
  const requests = new OpenRequests();
  requests.begin('one', { tokenId: 'U', sequence: 9 });
  requests.begin('one', { tokenId: 'T', sequence: 2 });
  requests.end('one', 5);
  expect([requests.total, requests.withToken('T'), requests.withToken('U')]).toEqual([1, 0, 1]);
});

test('an end is remembered only for as long as older events may come', () => {
  const requests = new OpenRequests();
  requests.end('one', 9);
  requests.isWhole();
  requests.begin('one', { tokenId: 'T', sequence: 8 });
  expect(requests.total).toBe(1);
});
