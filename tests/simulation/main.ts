import { parseArgs } from 'node:util';
import { virtualizeProcess } from './virtual-process.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    print: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const realNow = performance.now.bind(performance);
virtualizeProcess();
const { runSeed } = await import('./run-seed.ts');
const counts = new Map();
const from = Number(values.seed ?? values.from);
const seeds = values.seed ? 1 : Number(values.seeds);
const t0 = realNow();
let events = 0, tasks = 0, conflicts = 0;
const byInv = new Map<string, number[]>();
for (let seed = from; seed < from + seeds; seed++) {
  const result = await runSeed(seed, { counts, print: values.print });
  if (process.env.P) console.log(seed, result.mode, result.events, result.tasks, Math.round(realNow() - t0));
  events += result.events; tasks += result.tasks; conflicts += result.conflicts;
  if (values.print) console.log(result.history.join('\n'));
  if (result.violation) {
    if (values.seed || !values.keep) console.log(`seed ${seed} (${result.mode}): ${result.violation.message}`);
    const m = result.violation.message.slice(0, 60).replace(/[0-9]+/g, '#');
    byInv.set(m, [...(byInv.get(m) ?? []), seed]);
    if (!values.keep) break;
  }
}
for (const [m, s] of byInv) console.log(s.length, m, s.slice(0, 5));
const s = (realNow() - t0) / 1000;
console.log({ seedsPerS: seeds / s, events: events / seeds, tasks: tasks / seeds, conflicts });
if (seeds > 1) console.log(counts);
