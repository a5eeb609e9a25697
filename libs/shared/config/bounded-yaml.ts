import { isScalar, parse } from 'yaml';

const maxChars = 1_048_576;
/** Kubeconfigs, policies and settings nest some ten levels; the parser is recursive and its time grows with depth. */
const maxDepth = 64;
/** The parser compares each key of a map with all before it: a map of 1000 keys is that many. */
const maxComparisons = 500_000;
/** The parser compares each alias with all before it, and those of empty collections do not count as such that multiply. */
const maxAliases = 1000;
/** Four columns a level. */
const maxIndent = 4 * maxDepth;
/** `- - - x` and `? ? x` begin a level with every sign. */
const compactLevels = new RegExp(String.raw`(?:[-?:][ \t]+){${maxDepth}}`);
const deepIndent = new RegExp(String.raw`^ {${maxIndent}}`, 'm');

/** How deep brackets stand open at most. Quotes are not looked at: texts with so many of them open are none of ours. */
function bracketDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x5b || char === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (char === 0x5d || char === 0x7d) depth = Math.max(0, depth - 1);
  }
  return deepest;
}

/** Why a YAML text is not given to the parser; undefined where it may be. Costs one look at each character. */
export function yamlTooDeep(text: string): string | undefined {
  const isDeep = bracketDepth(text) > maxDepth || compactLevels.test(text) || deepIndent.test(text);
  return isDeep ? `it nests deeper than ${maxDepth} levels` : undefined;
}

/**
 * Parses a file that a person has written, or somebody else has given them: within bounds, aliases that multiply refused, and
 * without a word on stderr, because the parser's warnings quote the text, and that may hold keys.
 * @throws Error whose message quotes the text
 */
export function parseBoundedYaml(text: string): unknown {
  if (text.length > maxChars) throw new Error(`it is longer than ${maxChars} characters`);
  const problem = yamlTooDeep(text);
  if (problem !== undefined) throw new Error(problem);
  if ((text.match(/\*[^\s,[\]{}]/g)?.length ?? 0) > maxAliases) throw new Error('it has too many aliases');
  let comparisons = 0;
  return parse(text, {
    logLevel: 'error',
    uniqueKeys(one, other) {
      if (++comparisons > maxComparisons) throw new Error('it has too many keys');
      return one === other || (isScalar(one) && isScalar(other) && one.value === other.value);
    },
  });
}
