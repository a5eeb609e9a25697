import { z } from 'zod';
import { parseJsonAs } from './parse-json-as.ts';

/**
 * What registrars and account-controllers tell each other about agents that flood. Core messages, never stored: a flood that goes on is
 * told again. The subject ends in the agent's public key.
 */
export const floodHeardPrefix = 'rollcall.flood.heard.';
export const floodCutPrefix = 'rollcall.flood.cut.';

const measure = { requests: z.int().min(0), seconds: z.number().min(0) };

const heard = z.object({
  ...measure,
  /** What else let it in: the token and the address, known to the replica that answered its callout. */
  from: z.string().max(400).optional(),
});
/** A registrar has far too many requests of that key. */
export type FloodHeard = z.infer<typeof heard>;

const cut = z.object({
  ...measure,
  /** Names in the credentials of the connections that were ended. */
  clusters: z.array(z.string().max(253)).max(16),
});
/** An account-controller has ended the connections of that key. */
export type FloodCut = z.infer<typeof cut>;

/** @returns undefined for what is none, as is decodeFloodCut */
export const decodeFloodHeard = (text: string): FloodHeard | undefined => parseJsonAs(heard, text);
export const decodeFloodCut = (text: string): FloodCut | undefined => parseJsonAs(cut, text);
