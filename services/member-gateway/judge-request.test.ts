import { expect, test } from 'vitest';
import { memberPath } from './api-documents.ts';
import { judgeRequest, type MemberView, mustEnd, type RequestContext } from './judge-request.ts';

const limits = { ofPerson: 3, toMember: 4, inAll: 5 };
const nothingOpen = { ofPerson: 0, ofPersonToMember: 0, toMember: 0, inAll: 0, saysTooMuch: false };
const aMember = (more: Partial<MemberView> = {}): MemberView => ({
  name: 'edge-1',
  clusterId: 'id-1',
  isAccepted: true,
  liveness: 'ready',
  lastSeen: 'live',
  access: 'People as rollcall:NAME: alice',
  isDenied: false,
  agentVersion: '0.1.0',
  ...more,
});
const aRequest = (more: Partial<RequestContext> = {}): RequestContext => ({
  name: 'edge-1',
  path: '/api/v1/namespaces',
  member: aMember(),
  hasBus: true,
  open: nothingOpen,
  limits,
  ...more,
});

test.each<{ name: string; request: RequestContext; code: number; says: string }>([
  {
    name: 'a bad path',
    request: aRequest({ path: '/api/../x', member: undefined }),
    code: 400,
    says: 'path',
  },
  { name: 'an unknown cluster', request: aRequest({ member: undefined }), code: 404, says: 'not found' },
  {
    name: 'one that is not admitted, whatever else it is',
    request: aRequest({ member: aMember({ isAccepted: false, isDenied: true }) }),
    code: 503,
    says: 'not admitted',
  },
  {
    name: 'one that a person has shut',
    request: aRequest({ member: aMember({ isDenied: true, access: undefined }) }),
    code: 403,
    says: '"memberAccess":"Allowed"',
  },
  {
    name: 'one that is away',
    request: aRequest({ member: aMember({ liveness: 'unreachable', lastSeen: '2026-11-26T10:00:00Z' }) }),
    code: 503,
    says: 'last heard 2026-11-26T10:00:00Z',
  },
  {
    name: 'one whose owner has not turned it on',
    request: aRequest({ member: aMember({ access: undefined }) }),
    code: 403,
    says: 'has not turned on access',
  },
  {
    name: 'one whose agent is perhaps too old to be turned on',
    request: aRequest({ member: aMember({ access: undefined, agentVersion: '0.0.9' }) }),
    code: 403,
    says: 'its agent runs 0.0.9 and the hub',
  },
  {
    name: 'too many of one person',
    request: aRequest({ open: { ...nothingOpen, ofPerson: 3 } }),
    code: 429,
    says: 'you have 3',
  },
  {
    name: 'half of what one member carries, of one person',
    request: aRequest({ open: { ...nothingOpen, ofPerson: 2, ofPersonToMember: 2, toMember: 2 } }),
    code: 429,
    says: 'you have 2 requests to cluster "edge-1"',
  },
  {
    name: 'too many to one member',
    request: aRequest({ open: { ...nothingOpen, toMember: 4 } }),
    code: 429,
    says: 'to cluster "edge-1"',
  },
  {
    name: 'one that cannot be asked while the bus is away',
    request: aRequest({ hasBus: false }),
    code: 503,
    says: 'the gateway of the hub has lost its connection',
  },
  {
    name: 'one whose agent floods',
    request: aRequest({ open: { ...nothingOpen, saysTooMuch: true } }),
    code: 503,
    says: 'more than is read',
  },
  {
    name: 'too many in all',
    request: aRequest({ open: { ...nothingOpen, inAll: 5 } }),
    code: 429,
    says: '5 requests',
  },
])('$name is refused with $code', ({ request, code, says }) => {
  const refusal = judgeRequest(request);
  expect(refusal?.code).toBe(code);
  expect(refusal?.message).toContain(says);
});

test('whoever is suspect is still asked, and one request below each bound goes on', () => {
  const open = { ...nothingOpen, ofPerson: 2, ofPersonToMember: 1, toMember: 3, inAll: 4 };
  expect(judgeRequest(aRequest({ member: aMember({ liveness: 'suspect' }), open }))).toBeUndefined();
});

test.each<{ how: string; before?: Partial<MemberView>; now: MemberView | undefined; ends: boolean }>([
  { how: 'that is gone', now: undefined, ends: true },
  { how: 'that is not admitted any more', now: aMember({ isAccepted: false }), ends: true },
  { how: 'that was shut', now: aMember({ isDenied: true }), ends: true },
  { how: 'that is another cluster now', now: aMember({ clusterId: 'id-2' }), ends: true },
  { how: 'that is as before', now: aMember(), ends: false },
  {
    how: 'that a person made up with its id, and changes',
    before: { isAccepted: false },
    now: aMember({ isAccepted: false }),
    ends: false,
  },
  { how: 'that a person made up, and deletes', before: { isAccepted: false }, now: undefined, ends: false },
  { how: 'that is admitted now', before: { isAccepted: false }, now: aMember(), ends: false },
])('streams to a cluster end by an object $how: $ends', ({ before, now, ends }) => {
  expect(mustEnd(aMember(before), now)).toBe(ends);
});

const base = '/apis/proxy.rollcall.dev/v1alpha1/managedclusters';
test.each([
  [`${base}/edge-1/proxy`, { name: 'edge-1', path: '/' }],
  [`${base}/edge-1/proxy?a=b`, { name: 'edge-1', path: '/?a=b' }],
  [`${base}/edge-1/proxy/api?a=/b`, { name: 'edge-1', path: '/api?a=/b' }],
  [`${base}/edge-1/proxyx`, undefined],
  [`${base}/edge-1`, undefined],
  [`${base}/Edge/proxy/`, undefined],
  [`${base}/edge-1%2fproxy/proxy/`, undefined],
  [`http://evil.example${base}/edge-1/proxy/`, undefined],
])('the path %s', (url, wanted) => expect(memberPath(url)).toEqual(wanted));
