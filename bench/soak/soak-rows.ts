import { listOf, type Row, seconds } from '../report/table-row.ts';
import type { SoakResult } from './measure-soak.ts';

export function soakRows({ options, record, judgements }: SoakResult): Row[] {
  const { clusters, real, lastsMs, servers } = options;
  const loads = record.samples.map(({ load }) => load);
  const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length;
  return [
    {
      what: `${clusters} clusters (${real} with agents of their own) on ${servers} NATS server(s) live for ${seconds(lastsMs)}`,
      is: `${record.changes} changes, ${record.changedFacts} of facts, ${record.strikes.length} kills; load ${mean.toFixed(1)}, at most ${Math.max(...loads).toFixed(1)}`,
    },
    { what: '… what people did', is: listOf(record.people.done) },
    { what: '… what agents met', is: listOf(record.troubles) },
    {
      what: '… rightly Unreachable; suspect without a reason',
      is: `${record.unreachable.length}; ${record.wronged.suspect.length}`,
    },
    {
      what: '… times that the soak itself had no time for its agents',
      is: `${record.ownStalls.length}`,
    },
    ...judgements.map(({ name, is, allowed, isGood }) => ({
      what: `… ${name}`,
      is,
      target: { says: allowed, isMet: isGood },
    })),
  ];
}
