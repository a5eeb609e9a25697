import type { Random } from '../../cli/simulate/random.ts';

/** Texts that decoders, shells, selectors, terminals and prototypes have stumbled over. */
const awkwardTexts = [
  '',
  ' ',
  '.',
  '*',
  '>',
  'a.b',
  'a..b',
  'a b',
  '\r\n',
  '\0',
  '\u001b[2J',
  '\u202e',
  '\u{1f680}',
  'e\u0301',
  '\u00e9',
  '\ud800',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '-1',
  '1e309',
  'null',
  '../../etc',
  '$(id)',
  '`id`',
  "'",
  '"',
  '\\',
  '{{.}}',
  '%s',
  'x'.repeat(1024),
  '\u{1f680}'.repeat(300),
] as const;

const awkwardJson = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '-1',
  '1.5',
  '1e308',
  '1e999',
  '9007199254740993',
  '-9007199254740993',
  '99999999999999999999999999999999',
  '{}',
  '[]',
  '[[]]',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  ...awkwardTexts.map((text) => JSON.stringify(text)),
] as const;

const awkwardBytes = [0, 1, 0x0a, 0x0d, 0x1b, 0x20, 0x22, 0x2e, 0x7f, 0x80, 0x9b, 0xc0, 0xed, 0xff] as const;

/** Flips, cuts, doubles, moves and mixes bytes, knowing nothing of what they mean. */
export function mutateBytes(bytes: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  const at = random.int(0, Math.max(0, bytes.length - 1));
  const length = random.int(1, 1 + Math.floor(bytes.length / 4));
  const head = bytes.subarray(0, at);
  const tail = bytes.subarray(Math.min(bytes.length, at + length));
  switch (random.int(0, 6)) {
    case 0: {
      const flipped = Uint8Array.from(bytes);
      if (flipped.length > 0) flipped[at] = (flipped[at] ?? 0) ^ (1 << random.int(0, 7));
      return flipped;
    }
    case 1:
      return bytes.slice(0, at);
    case 2:
      return Buffer.concat([head, tail]);
    case 3:
      return Buffer.concat([head, bytes.subarray(at, at + length), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([head, Uint8Array.of(random.pick(awkwardBytes)), bytes.subarray(at)]);
    case 5: {
      const cut = random.int(0, other.length);
      return Buffer.concat([head, other.subarray(cut, cut + length), tail]);
    }
    default:
      return Buffer.concat([head, Buffer.from(Array.from({ length }, () => random.int(0, 255))), tail]);
  }
}

function replaceAt(parts: readonly string[], at: number, part: string): string {
  return parts.with(at, part).join('');
}

/** Changes a text by its words, signs and lines. @param words - that mean something to the decoder */
export function mutateText(text: string, other: string, random: Random, words: readonly string[]): string {
  const parts = text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [''];
  const otherParts = other.match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu) ?? [''];
  const lines = text.split('\n');
  const at = random.int(0, parts.length - 1);
  const line = random.int(0, lines.length - 1);
  switch (random.int(0, 8)) {
    case 0:
      return replaceAt(parts, at, random.pick(awkwardTexts));
    case 1:
      return replaceAt(parts, at, random.pick([...words, '']));
    case 2:
      return replaceAt(parts, at, `${parts[at]}${random.pick([...words, ...awkwardTexts])}`);
    case 3:
      return replaceAt(parts, at, random.pick(otherParts));
    case 4:
      return lines.toSpliced(line, 0, lines[random.int(0, lines.length - 1)] ?? '').join('\n');
    case 5:
      return lines.toSpliced(line, 1).join('\n');
    case 6:
      return lines.with(line, `${' '.repeat(random.int(0, 4))}${lines[line]}`).join('\n');
    case 7: {
      const open = random.pick(['[', '{', '(', '!', '-', '{a: ']);
      return replaceAt(parts, at, open.repeat(random.int(1, random.chance(0.1) ? 3000 : 30)));
    }
    default:
      return text.slice(0, random.int(0, text.length)) + (random.chance(0.5) ? other.slice(-at) : '');
  }
}

const jsonToken = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;

function nested(inner: string, random: Random): string {
  const depth = random.int(1, random.chance(0.1) ? 5000 : 20);
  return random.chance(0.5)
    ? '['.repeat(depth) + inner + ']'.repeat(depth)
    : '{"a":'.repeat(depth) + inner + '}'.repeat(depth);
}

/** Changes JSON by its tokens, so that most of what comes out is JSON still, also such as no encoder would write. */
export function mutateJson(text: string, other: string, random: Random): string {
  const tokens = text.match(jsonToken) ?? ['null'];
  const scalars = tokens.flatMap((token, at) => (/^[{}[\],:]$/.test(token) ? [] : [at]));
  const keys = scalars.filter((at) => tokens[at + 1] === ':');
  const values = scalars.filter((at) => tokens[at + 1] !== ':');
  if (values.length === 0 || keys.length === 0) return replaceAt(tokens, 0, random.pick(awkwardJson));
  const at = random.pick(values);
  const key = random.pick(keys);
  const otherTokens = (other.match(jsonToken) ?? []).filter((token) => !/^[{}[\],:]$/.test(token));
  switch (random.int(0, 7)) {
    case 0:
    case 1:
      return replaceAt(tokens, at, random.pick(awkwardJson));
    case 2:
      return replaceAt(tokens, key, JSON.stringify(random.pick(awkwardTexts)));
    case 3:
      return replaceAt(tokens, at, nested(tokens[at] ?? '0', random));
    case 4:
      // The same key twice, or one more.
      return replaceAt(
        tokens,
        key,
        `${random.chance(0.5) ? tokens[key] : '"__proto__"'}:${random.pick(awkwardJson)},${tokens[key]}`,
      );
    case 5:
      return replaceAt(tokens, at, random.pick([...otherTokens, 'null']));
    case 6: {
      const swapped = random.pick(values);
      return tokens
        .with(at, tokens[swapped] ?? '')
        .with(swapped, tokens[at] ?? '')
        .join('');
    }
    default:
      return tokens.toSpliced(random.int(0, tokens.length - 1), 1).join('');
  }
}
