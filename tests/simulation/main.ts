import { parseArgs } from 'node:util';
import type { FaultKind } from './faults.ts';
import { takeDefenceAway } from './mutants.ts';
import type { SeedResult } from './run-seed.ts';
import { virtualizeProcess } from './virtual-process.ts';

const usage = `Lives through random histories of a whole hub, one for each seed, and checks what must hold.

node tests/simulation/main.ts [--seeds N] [--from N] [--seed N --print] [--mutant NAME]
  --seeds   how many (1000)        --from   the first one (1)
  --seed    only this one          --print  its whole history
  --mutant  with one defence taken away: it must fail

Odd seeds: anything may go wrong until the end. Even seeds: faults stop, and everything must come to rest.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    print: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** Below it a kind of fault may not have come up by chance. */
const seedsForCoverage = 500;
const progressEverySeeds = 200;

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  process.stderr.write(`--${name} takes a whole number, not "${text}"\n`);
  process.exit(2);
}

function seedsPerCoreSecond(count: number): string {
  const { user, system } = process.cpuUsage();
  return ((count * 1e6) / (user + system)).toFixed(0);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (values.help) {
  say(usage);
  process.exit(0);
}
const first = wholeNumber('seed', values.seed ?? values.from);
const count = values.seed === undefined ? wholeNumber('seeds', values.seeds) : 1;
if (values.mutant !== undefined) takeDefenceAway(values.mutant);
virtualizeProcess();
const { runSeed } = await import('./run-seed.ts');
const { faultKinds } = await import('./faults.ts');
const counts = new Map<FaultKind, number>();
const sums = { events: 0, tasks: 0, conflicts: 0 };

function flushAndExit(code: number): Promise<never> {
  return new Promise(() => {
    process.stdout.write('', () => process.exit(code));
  });
}

/** Once more, in words: the same seed gives the same history. */
async function tellFailure(seed: number, { mode, violation }: SeedResult): Promise<void> {
  const again = await runSeed(seed, { counts: new Map(), print: true });
  say(again.history.join('\n'));
  say(`\nseed ${seed} (${mode}) breaks: ${violation?.message}`);
  if (again.violation?.message !== violation?.message)
    say(`and not the same way the second time: ${again.violation?.message ?? 'it held'}`);
  const mutant = values.mutant === undefined ? '' : ` --mutant ${values.mutant}`;
  say(`replay: node tests/simulation/main.ts --seed ${seed} --print${mutant}`);
}

for (let seed = first; seed < first + count; seed++) {
  const result = await runSeed(seed, { counts, print: false });
  sums.events += result.events;
  sums.tasks += result.tasks;
  sums.conflicts += result.conflicts;
  if (result.violation || values.print) await tellFailure(seed, result);
  // Not process.exit at once: what was said is still on its way through the pipe.
  if (result.violation) await flushAndExit(1);
  const done = seed - first + 1;
  if (done % progressEverySeeds === 0)
    process.stderr.write(`${done} of ${count} seeds, ${seedsPerCoreSecond(done)} a core and second\n`);
}

say(
  `${count} seeds held (from ${first}): ${sums.events} events, ${sums.tasks} steps, ${sums.conflicts} lost races`,
);
say(`${seedsPerCoreSecond(count)} seeds a core and second`);
const silent = faultKinds.filter((kind) => !counts.has(kind));
for (const kind of faultKinds) say(`  ${kind.padEnd(26)} ${counts.get(kind) ?? 0}`);
if (count >= seedsForCoverage && silent.length > 0) {
  say(`never struck: ${silent.join(', ')}`);
  await flushAndExit(1);
}
await flushAndExit(0);
