import type { FindingRow } from '../../../rows/index.ts';

/** What a part of the text is; undefined: nothing of its own. */
export type Tone = 'key' | 'text' | 'number' | 'word' | 'root' | 'note';

export interface Part {
  readonly text: string;
  readonly tone?: Tone;
  /** A mistake begins here, or a warning. */
  readonly severity?: FindingRow['severity'];
}

const tones: readonly (readonly [Tone, RegExp])[] = [
  ['note', /#.*/y],
  ['text', /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/y],
  ['number', /\b\d[\d.]*\b/y],
  ['root', /\b(?:request|token|verified|claimed|fleet|time)\b(?=[.[])/y],
  ['word', /\b(?:Approve|Hold|Deny|true|false|null|in|has|all|exists|filter|map|size)\b/y],
];
const key = /^[\s-]*[A-Za-z][\w.-]*:(?=\s|$)/;
const other = /\w+|\s+|./y;

function* partsOf(line: string): Generator<Part> {
  const [before = ''] = key.exec(line) ?? [];
  if (before !== '') yield { text: before, tone: 'key' };
  let at = before.length;
  while (at < line.length) {
    const part = partAt(line, at);
    at += part.text.length;
    yield part;
  }
}

function partAt(line: string, at: number): Part {
  for (const [tone, pattern] of tones) {
    pattern.lastIndex = at;
    const [text = ''] = pattern.exec(line) ?? [];
    if (text !== '') return { text, tone };
  }
  other.lastIndex = at;
  const [text = line.slice(at)] = other.exec(line) ?? [];
  return { text };
}

/** Marks what stands at the column; at the end of the line its last part. */
function withMark(parts: readonly Part[], column: number, severity: FindingRow['severity']): Part[] {
  let end = 0;
  const found = parts.findIndex(({ text }) => (end += text.length) >= column);
  const marked = found === -1 ? parts.length - 1 : found;
  return parts.map((part, index) => (index === marked ? { ...part, severity } : part));
}

/** Lines of a policy in parts that together are the text: YAML, CEL in it, and the mistakes where they are. */
export function highlightPolicy(text: string, findings: readonly FindingRow[]): Part[][] {
  return text.split('\n').map((line, index) => {
    const ofLine = findings.filter((finding) => finding.line === index + 1);
    return ofLine.reduce<Part[]>(
      (parts, { column, severity }) => withMark(parts, column, severity),
      [...partsOf(line)],
    );
  });
}

/** Where line and column stand in the text. */
export function offsetOf(text: string, { line, column }: Pick<FindingRow, 'line' | 'column'>): number {
  const before = text.split('\n').slice(0, line - 1);
  return Math.min(text.length, before.reduce((sum, one) => sum + one.length + 1, 0) + column - 1);
}
