import { admissionPolicyNames } from '@rollcall/shared/admission';
import { afterAll, beforeAll, test } from 'vitest';
import { type GuardedHub, startGuardedHub } from './guarded-hub.ts';
import { expectSeenByTrying, expectWeakeningNamed } from './weakened-policy.ts';

/** What `weakened.test.ts` shows of some of the admission policies, of all of them. */
let hub: GuardedHub;
beforeAll(async () => {
  hub = await startGuardedHub();
});
afterAll(() => hub?.[Symbol.asyncDispose]());

test.each(admissionPolicyNames)('%s: whatever weakens it is named', (name) =>
  expectWeakeningNamed(hub, name),
);

test.each(admissionPolicyNames)('%s: that the API server does not act on it is seen by trying it', (name) =>
  expectSeenByTrying(hub, name),
);
