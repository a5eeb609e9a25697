import { parseArgs } from 'node:util';
import { decoders } from './decoders.ts';
import type { FuzzedDecoder } from './fuzzed-decoder.ts';
import { type FuzzResult, runDecoder } from './run-decoder.ts';

const usage = `Gives decoders inputs that nobody honest would send: none may crash, lead to an event, take 50 ms, or stay in memory.

npm run fuzz -- [--decoder NAME,…] [--inputs N] [--seed S]
  --decoder  ${decoders.map(({ name }) => name).join(', ')}; default: all
  --inputs   for each decoder (100000)
  --seed     the same one gives the same inputs; default: from the clock, and printed`;

const { values } = parseArgs({
  options: {
    decoder: { type: 'string', default: decoders.map(({ name }) => name).join(',') },
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    help: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} takes a whole number, not "${text}"\n`);
  process.exit(2);
}

function chosen(): FuzzedDecoder[] {
  return values.decoder.split(',').map((name) => {
    const found = decoders.find((decoder) => decoder.name === name);
    if (found) return found;
    process.stderr.write(`--decoder "${name}" is none of ${decoders.map((one) => one.name).join(', ')}\n`);
    process.exit(2);
  });
}

function lineOf(name: string, inputs: number, { taken, refused, slowestMs, grownBytes }: FuzzResult): string {
  const heap = `${(grownBytes / 1024).toFixed(0)} KiB more heap`;
  return `${name.padEnd(18)} ${inputs} inputs: ${taken} taken, ${refused} refused, slowest ${slowestMs.toFixed(1)} ms, ${heap}`;
}

if (values.help) {
  say(usage);
  process.exit(0);
}
const inputs = wholeNumber('inputs', values.inputs);
const seed = wholeNumber('seed', values.seed);
let failed = 0;
say(`seed ${seed}`);
for (const decoder of chosen()) {
  const result = await runDecoder(decoder, { inputs, seed, isMeasured: true });
  say(lineOf(decoder.name, inputs, result));
  for (const { what, input } of result.findings) {
    failed++;
    say(`  ${what}`);
    if (input !== undefined) say(`  input (base64): ${input}`);
  }
  await decoder.close?.();
}
process.exitCode = failed === 0 ? 0 : 1;
