import { maxPolicyRules } from '@rollcall/shared/resources';

/** How large a policy may be. How long it may run is `policyDeadlineMs` in `config.ts`, which ends the thread of `policy-thread.ts`. */
export const policyLimits = {
  rules: maxPolicyRules,
  expressionBytes: 4096,
  /** Two loops over 256 elements each are microseconds; each further level multiplies. */
  loopDepth: 2,
  /** Each declaration of a policy is one event, and an event has a largest size. */
  policyBytes: 131_072,
  /** All of a policy are compiled while everybody else waits: half a second on a slow machine (measured). */
  patternPlaces: 20_000,
} as const;

/** Of one expression, by the library that parses it. */
export const parserLimits = {
  maxAstNodes: 2000,
  maxDepth: 64,
  maxListElements: 256,
  maxMapEntries: 256,
  maxCallArguments: 16,
};
