import { expect, test } from 'vitest';
import { type GateView, refuseForRoom } from './refuse-when-full.ts';

const settings = { maxOpenRequests: 10, maxOpenRequestsPerToken: 3 };
const view = (overrides: Partial<GateView>): GateView => ({
  usedShare: 0.1,
  open: 0,
  openWithToken: 0,
  ...overrides,
});

test.each([
  { name: 'room for everything', given: view({}), want: undefined },
  { name: 'a disk just below the limit', given: view({ usedShare: 0.8499 }), want: undefined },
  { name: 'a disk at the limit', given: view({ usedShare: 0.85 }), want: 'HUB_FULL' },
  { name: 'nobody knows how full it is', given: view({ usedShare: undefined }), want: undefined },
  { name: 'one less than the cap of a token', given: view({ open: 2, openWithToken: 2 }), want: undefined },
  {
    name: 'the cap of a token',
    given: view({ open: 3, openWithToken: 3 }),
    want: 'TOO_MANY_OPEN_REQUESTS',
  },
  { name: 'the cap of the hub', given: view({ open: 10 }), want: 'TOO_MANY_OPEN_REQUESTS' },
  {
    name: 'full in both ways: the disk is named, it concerns everybody',
    given: view({ usedShare: 0.9, open: 10, openWithToken: 3 }),
    want: 'HUB_FULL',
  },
])('$name → $want', ({ given, want }) => {
  expect(refuseForRoom(given, settings)?.code).toBe(want);
});
