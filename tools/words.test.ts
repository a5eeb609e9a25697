import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '..');

interface FormerWord {
  readonly word: RegExp;
  readonly instead: string;
  /** Paths where it is another word. */
  readonly except?: RegExp;
}

/**
 * Words that we used before the field's own (docs/words.md). Each is looked for in paths, and in code and prose alike, whatever
 * the case: `camelCase`, `kebab-case` and `UPPER_CASE` are one.
 */
const formerWords: readonly FormerWord[] = [
  { word: /trust[-_ ]?keeper|\bkeepers?\b|state-?keeper/i, instead: 'account-controller; store' },
  { word: /wish/i, instead: 'operation, bulk change; or what is asked for' },
  { word: /\bmass(es)? of operations\b/i, instead: 'bulk change' },
  { word: /(?<!brain)storm/i, instead: 'outage' },
  { word: /(?<!heart|dead)beat(?!en\b)/i, instead: 'heartbeat; sends heartbeats; wins over' },
  { word: /canary/i, instead: 'loopback check' },
  { word: /beat_?stretch|intervals?_?stretched|hub\.pace|PaceInForce/i, instead: 'interval multiplier' },
  {
    word: /\b(an|own|last|newest|signed|first) asks?\b|rollcall[-_.](ask|answer)|(code|Received|Join|Rotation|Stale)Ask|\bAsk(Input|Content|Budget|Services)|ASK_/,
    instead: 'request',
  },
  { word: /answer[-_ ]?key|answer[-_ ]?chain|(de|en)codeAnswer|\bAnswerResult/i, instead: 'reply' },
  {
    word: /(?<!de)fence|rollcall-stamp|shippedStamps/i,
    instead: 'admission policies; attribution',
    // Of Markdown.
    except: /^tools\/one-sentence|^tests\/docs\/markdown/,
  },
  { word: /\bdeaf|\bears?\b|earsWork|siblings?\b/i, instead: 'replicas; receiving' },
  {
    word: /token-?bucket|createBuckets|late-?answers|kept-?out\.|createKeptOut|cut-?floods\b/i,
    instead: 'rate limiter; tarpit; temporary blocklist; flood guard',
  },
  {
    word: /(join|transition)-?lot\b|(judge|take|write)Lot|join-?turns|together-?or-?each/i,
    instead: 'batch, batcher',
  },
  { word: /\bbur(y|ied|ies)\b/i, instead: 'dead letter' },
  {
    word: /hear-?people|declare-?objects|settle-?clusters|hear-?confirmations/i,
    instead: 'user changes; object controller; follow-ups',
  },
  {
    word: /bring-?access-?about|access-?step\b|answer-?mints/i,
    instead: 'reconcile access; plan access; token issuer',
  },
  {
    word: /createDialing|session\/(dialing|hearing|asking|beating|leaving|rest-time)|install\/removal/,
    instead: 'connector, reply handler, requester, heartbeater, leave flow, reconnect delay, uninstall',
  },
  {
    word: /(while|cluster|\/)-?standing\b|standingOf|createStanding/i,
    instead: 'key status; credential adoption; registration phase; while in place',
  },
  {
    word: /\bpictures?\b|[a-z]Picture|Picture[A-Z]|out-of-sight|OutOfSight|\b(in|into|out of) sight\b/,
    instead: 'projection; visible, hidden',
  },
  {
    word: /dirty-?objects|what-?is-?dirty|projector[-_']+dirty|createThrottle|createSettling|\bImportance\b/i,
    instead: 'work queue, event keys, priority, debounce, minimum interval',
  },
  { word: /unclaimed|predefined-?claim\b|refuseClaim\b/i, instead: 'bind, unbound' },
  {
    word: /(former|earlier|second|next)-?lives?\b|former-?member|\b(former|new|earlier|next|present) (life|lives)\b/i,
    instead: 'epoch of the hub; registration of a cluster; member from before a restore',
  },
];

/** Measured or recorded by an earlier version, made by others, no text, or the list itself. */
const excepted = [
  /^bench\/results\//,
  /^docs\/words\.md$/,
  /\.png$/,
  /^package-lock\.json$/,
  /^tests\/fixtures\//,
  /^tools\/words\.test\.ts$/,
];

const paths = execFileSync('git', ['ls-files', '-z'], { cwd: repository, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '' && !excepted.some((place) => place.test(path)));

const texts = new Map(paths.map((path) => [path, readText(path)]));

/** Undefined for a file that is removed and not committed yet. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(join(repository, path), 'utf8');
  } catch {
    return undefined;
  }
}

/** `path:line: text` of every place with the word. */
function placesOf({ word, except }: FormerWord): string[] {
  return [...texts].flatMap(([path, text]) => {
    if (text === undefined || except?.test(path)) return [];
    const lines = text.split('\n').map((line, index) => ({ line, at: `${path}:${index + 1}` }));
    const found = lines.filter(({ line }) => word.test(line)).map(({ line, at }) => `${at}: ${line.trim()}`);
    return word.test(path) ? [`${path}: its name`, ...found] : found;
  });
}

test.each(formerWords)('nothing says $word: it is $instead', (former) => {
  expect(placesOf(former)).toEqual([]);
});
