import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RollcallError } from '@rollcall/shared/errors';
import { createRandom } from '../../cli/simulate/random.ts';
import { BrokenPromise, type FuzzedDecoder, type Outcome } from './fuzzed-decoder.ts';
import { generateInput } from './generate-input.ts';

export interface Finding {
  readonly decoder: string;
  readonly what: string;
  /** Base64; absent for what is not about one input. */
  readonly input?: string;
}

export interface FuzzResult {
  readonly taken: number;
  readonly refused: number;
  readonly findings: readonly Finding[];
  /** Of the heap, over the last four fifths of the inputs; garbage is collected before each look. */
  readonly grownBytes: number;
  readonly slowestMs: number;
}

export interface FuzzOptions {
  readonly inputs: number;
  readonly seed: number;
  /** Asks for time and memory as well: not in tests, which share their machine. */
  readonly isMeasured: boolean;
  /** Findings after which it is enough; default 5. */
  readonly maxFindings?: number;
}

const longestMs = 50;
/** What engines and libraries cache counts too; a leak of 100 bytes an input would be 8 MB of 80,000. */
const mostGrownBytes = 6 * 1024 * 1024;

/** Needs no flag on the command line. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

function isPolluted(): boolean {
  return Object.keys(Object.prototype).length > 0 || 'polluted' in {};
}

/** What becomes of one input. @returns what is wrong with that, or the outcome */
export async function tryInput(
  decoder: FuzzedDecoder,
  input: Uint8Array,
): Promise<Outcome | { readonly wrong: string }> {
  let outcome: Outcome;
  try {
    const given = decoder.decode(input);
    outcome = given instanceof Promise ? await given : given;
  } catch (thrown) {
    if (thrown instanceof BrokenPromise) return { wrong: thrown.message };
    if (!(thrown instanceof RollcallError) && decoder.mayThrow?.(thrown) !== true)
      return { wrong: `threw ${String(thrown instanceof Error ? thrown.stack : thrown)}` };
    outcome = 'refused';
  }
  return isPolluted() ? { wrong: 'changed the prototype of all objects' } : outcome;
}

/** How long this thread has worked: time in which the machine did something else does not count. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** The quickest of some tries: the first ones compile, and any of them may collect garbage. */
async function quickestMs(decoder: FuzzedDecoder, input: Uint8Array): Promise<number> {
  let quickest = Infinity;
  for (let tries = 0; tries < 5 && quickest > longestMs; tries++) {
    const startedMs = workedMs();
    await tryInput(decoder, input);
    quickest = Math.min(quickest, workedMs() - startedMs);
  }
  return quickest;
}

/** Gives a decoder that many inputs; the same seed gives the same ones. */
export async function runDecoder(decoder: FuzzedDecoder, options: FuzzOptions): Promise<FuzzResult> {
  const { inputs, seed, isMeasured, maxFindings = 5 } = options;
  const random = createRandom(seed);
  const counts: Record<Outcome, number> = { taken: 0, refused: 0 };
  const findings: Finding[] = [];
  const found = (what: string, input?: Uint8Array) =>
    findings.push({
      decoder: decoder.name,
      what,
      ...(input ? { input: Buffer.from(input).toString('base64') } : {}),
    });
  const warmUp = Math.floor(inputs / 5);
  let heapBeforeBytes = 0;
  let slowestMs = 0;
  for (let at = 0; at < inputs && findings.length < maxFindings; at++) {
    if (isMeasured && at === warmUp) heapBeforeBytes = heapBytes();
    const input = generateInput(decoder, random);
    const startedMs = performance.now();
    const outcome = await tryInput(decoder, input);
    const tookMs = performance.now() - startedMs;
    if (typeof outcome === 'string') counts[outcome]++;
    else found(outcome.wrong, input);
    if (!isMeasured || tookMs <= slowestMs) continue;
    slowestMs = tookMs > longestMs ? Math.max(slowestMs, await quickestMs(decoder, input)) : tookMs;
    if (slowestMs > longestMs) found(`takes ${slowestMs.toFixed(0)} ms`, input);
  }
  const isWhole = isMeasured && findings.length < maxFindings;
  const grownBytes = isWhole ? heapBytes() - heapBeforeBytes : 0;
  if (grownBytes > mostGrownBytes) found(`keeps ${grownBytes} bytes more of the heap`);
  return { ...counts, findings, grownBytes, slowestMs };
}
