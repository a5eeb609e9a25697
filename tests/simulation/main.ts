import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { partsOf, runInJobs } from './jobs.ts';
import { takeDefenceAway } from './mutants.ts';
import { virtualizeProcess } from './virtual-process.ts';

const usage = `Lives through random histories of a whole hub, one for each seed, and checks what must hold.

node tests/simulation/main.ts [--seeds N] [--from N] [--jobs N] [--seed N --print] [--mutant NAME]
  --seeds   how many (1000)        --from   the first one (1)
  --jobs    processes at the same time (one for each core, and for each 500 seeds)
  --seed    only this one          --print  its whole history
  --mutant  with one defence taken away: it must fail

Odd seeds: anything may go wrong until the end. Even seeds: faults stop, and everything must come to rest.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    jobs: { type: 'string' },
    seed: { type: 'string' },
    print: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    // One of the processes that another one of these has started.
    part: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** Below it a kind of fault may not have come up by chance. */
const seedsForCoverage = 500;
/** What a process of its own is worth: about as long as it takes to start. */
const seedsForAJob = 500;

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  process.stderr.write(`--${name} takes a whole number, not "${text}"\n`);
  process.exit(2);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Not process.exit at once: what was said is still on its way through the pipe. */
function flushAndExit(code: number): Promise<never> {
  return new Promise(() => {
    process.stdout.write('', () => process.exit(code));
  });
}

if (values.help) {
  say(usage);
  process.exit(0);
}
const first = wholeNumber('seed', values.seed ?? values.from);
const count = values.seed === undefined ? wholeNumber('seeds', values.seeds) : 1;
const mostJobs = Math.max(1, Math.ceil(count / seedsForAJob));
const jobs = values.part
  ? 1
  : Math.min(mostJobs, wholeNumber('jobs', values.jobs ?? String(availableParallelism())) || 1);
const mutantArgs = values.mutant === undefined ? [] : ['--mutant', values.mutant];
// V8 learns from the first second, in which schemas and modules are made to stay, where to make things that get old. Of a
// seed nothing stays; whatever is made there by mistake keeps its whole world for a while. A third of the time.
setFlagsFromString('--no-allocation-site-pretenuring');
if (values.mutant !== undefined) takeDefenceAway(values.mutant);
virtualizeProcess();
const { runSeed } = await import('./run-seed.ts');
const { faultKinds } = await import('./faults.ts');
const { addTally, noTally, runRange } = await import('./run-range.ts');

/** Once more, in words: the same seed gives the same history. */
async function tellHistory(seed: number): Promise<void> {
  const { history, mode, violation } = await runSeed(seed, { counts: new Map(), print: true });
  say(history.join('\n'));
  if (violation) say(`\nseed ${seed} (${mode}) breaks: ${violation.message}`);
}

const sum = noTally();
const seedsPerCoreSecond = () => (sum.seeds / sum.coreSeconds).toFixed(0);
let told = 0;
function progress(more: ReturnType<typeof noTally>): void {
  if (values.part) process.send?.(more);
  addTally(sum, more);
  if (values.part || sum.seeds < told + 1000) return;
  told = sum.seeds;
  process.stderr.write(`${sum.seeds} of ${count} seeds, ${seedsPerCoreSecond()} a core and second\n`);
}

async function runHere(): Promise<number> {
  const broken = await runRange({ first, count }, progress);
  if (!broken) {
    if (values.print) await tellHistory(first);
    return 0;
  }
  await tellHistory(broken.seed);
  say(
    `replay: node tests/simulation/main.ts --seed ${broken.seed} --print ${mutantArgs.join(' ')}`.trimEnd(),
  );
  return 1;
}

const startedMs = process.hrtime.bigint();
const code =
  jobs === 1 ? await runHere() : await runInJobs(partsOf({ first, count }, jobs), mutantArgs, progress);
if (values.part || code !== 0) await flushAndExit(code);
const seconds = Number(process.hrtime.bigint() - startedMs) / 1e9;
say(
  `${count} seeds held (from ${first}): ${sum.events} events, ${sum.tasks} steps, ${sum.conflicts} lost races`,
);
say(`${seedsPerCoreSecond()} seeds a core and second`);
say(
  `${sum.coreSeconds.toFixed(0)} s of processor time in ${jobs} process(es), ${seconds.toFixed(0)} s by the clock`,
);
for (const kind of faultKinds) say(`  ${kind.padEnd(26)} ${sum.faults[kind] ?? 0}`);
const silent = faultKinds.filter((kind) => !sum.faults[kind]);
if (count >= seedsForCoverage && silent.length > 0) {
  say(`never struck: ${silent.join(', ')}`);
  await flushAndExit(1);
}
await flushAndExit(0);
