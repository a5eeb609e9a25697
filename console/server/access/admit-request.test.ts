import { expect, test } from 'vitest';
import { refusalOf, type RequestFacts } from './admit-request.ts';

const authority = '127.0.0.1:4321';
const own = `http://${authority}`;
const read = (overrides: Partial<RequestFacts> = {}): RequestFacts => ({
  method: 'GET',
  host: authority,
  origin: undefined,
  fetchSite: 'same-origin',
  hasSession: true,
  isEntrance: false,
  ...overrides,
});
const action = (overrides: Partial<RequestFacts> = {}) => read({ method: 'POST', origin: own, ...overrides });

test.each([
  { name: 'the page reads', request: read() },
  { name: 'the page acts', request: action() },
  { name: 'the person types the address', request: read({ fetchSite: 'none' }) },
  {
    name: 'the link is opened from a terminal',
    request: read({ fetchSite: 'none', isEntrance: true, hasSession: false }),
  },
  {
    name: 'the link is opened from another page',
    request: read({ fetchSite: 'cross-site', isEntrance: true, hasSession: false }),
  },
])('admitted: $name', ({ request }) => {
  expect(refusalOf(request, { authority, origin: own })).toBeUndefined();
});

test.each([
  { name: 'another name of this machine', request: read({ host: 'localhost:4321' }), want: 'another name' },
  {
    name: 'a name that points to loopback',
    request: read({ host: 'rebound.example:4321' }),
    want: 'another name',
  },
  { name: 'another port', request: read({ host: '127.0.0.1:4322' }), want: 'another name' },
  { name: 'no name', request: read({ host: undefined }), want: 'another name' },
  {
    name: 'the entrance by another name',
    request: read({ host: 'evil.example', isEntrance: true }),
    want: 'another name',
  },
  {
    name: 'another origin reads',
    request: read({ origin: 'http://127.0.0.1:9999' }),
    want: 'another origin',
  },
  { name: 'a page of nowhere acts', request: action({ origin: 'null' }), want: 'another origin' },
  { name: 'an action without an origin', request: action({ origin: undefined }), want: 'from which page' },
  { name: 'another site reads', request: read({ fetchSite: 'cross-site' }), want: 'another origin' },
  {
    name: 'another port of this machine acts',
    request: action({ fetchSite: 'same-site' }),
    want: 'another origin',
  },
  { name: 'nobody who opened the link', request: read({ hasSession: false }), want: 'not opened the link' },
  {
    name: 'an action without a session',
    request: action({ hasSession: false }),
    want: 'not opened the link',
  },
])('refused: $name', ({ request, want }) => {
  expect(refusalOf(request, { authority, origin: own })).toContain(want);
});
