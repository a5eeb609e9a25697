import type { Random } from '../../cli/simulate/random.ts';
import { bytesOf, type FuzzedDecoder, textOf } from './fuzzed-decoder.ts';
import { mutateBytes, mutateJson, mutateText } from './mutate.ts';

/** The largest message that an agent may send (nats-account-claims.ts). */
const defaultMaxBytes = 65_536;

function randomBytes(random: Random): Uint8Array {
  const length = random.int(0, random.chance(0.02) ? 4096 : 80);
  return Uint8Array.from({ length }, () => random.int(0, 255));
}

function mutateOnce(decoder: FuzzedDecoder, body: Uint8Array, random: Random): Uint8Array {
  const other = random.pick(decoder.samples);
  if (decoder.form === 'bytes' || random.chance(0.1)) return mutateBytes(body, other, random);
  const text = textOf(body);
  return bytesOf(
    decoder.form === 'json'
      ? mutateJson(text, textOf(other), random)
      : mutateText(text, textOf(other), random, decoder.words ?? []),
  );
}

function mutateBody(decoder: FuzzedDecoder, random: Random): Uint8Array {
  let body = random.pick(decoder.samples);
  for (let times = random.int(1, random.chance(0.2) ? 6 : 2); times > 0; times--)
    body = mutateOnce(decoder, body, random);
  return body;
}

/** Random bytes; a changed body, well sealed; or a good one, changed after it was sealed. */
export function generateInput(decoder: FuzzedDecoder, random: Random): Uint8Array {
  const maxBytes = decoder.maxBytes ?? defaultMaxBytes;
  const seal = (body: Uint8Array) => decoder.seal?.(body) ?? body;
  const way = random.next();
  if (way < 0.05) return randomBytes(random);
  if (way < 0.1) return seal(randomBytes(random));
  if (way < 0.12) return seal(random.pick(decoder.samples));
  if (decoder.seal === undefined || way < 0.75)
    return seal(mutateBody(decoder, random)).subarray(0, maxBytes);
  const other = seal(random.pick(decoder.samples));
  return mutateBytes(seal(random.pick(decoder.samples)), other, random).subarray(0, maxBytes);
}
