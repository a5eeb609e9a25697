import { requestDecoders } from './decoders/requests.ts';
import { busDecoders } from './decoders/bus.ts';
import { fileDecoders } from './decoders/files.ts';
import { keyDecoders } from './decoders/keys.ts';
import { policyDecoders } from './decoders/policies.ts';
import type { FuzzedDecoder } from './fuzzed-decoder.ts';

/** Everything that reads what comes from outside. */
export const decoders: readonly FuzzedDecoder[] = [
  ...requestDecoders,
  ...busDecoders,
  ...keyDecoders,
  ...fileDecoders,
  ...policyDecoders,
];
