import type { HerdResult } from './measure-herd.ts';
import type { LapsedResult } from './measure-lapsed.ts';
import { atMost, coresOf, listOf, type Row, seconds } from '../report/table-row.ts';

export function lapsedRows({ agents, backMs, lastMs, troubles, usedCores }: LapsedResult): Row[] {
  return [
    {
      what: `${agents} agents without valid credentials, registrar back → all members again`,
      is: `${seconds(lastMs)} (p50 ${seconds(backMs.p50)})`,
    },
    { what: '… what agents met, also while nobody answered', is: listOf(troubles) },
    { what: '… cores used until then', is: coresOf(usedCores) },
  ];
}

/** A fleet that loses its hub all at once. */
export function herdRows({ agents, rounds }: HerdResult): Row[] {
  return rounds.flatMap(({ awayMs, backMs, lastMs, mostInOneSecond, written, troubles, usedCores }) => [
    {
      what: `${agents} agents after ${seconds(awayMs)} without a hub → all heard again`,
      is: `${seconds(lastMs)} (p50 ${seconds(backMs.p50)})`,
      target: atMost(lastMs, 30_000, '30 s'),
    },
    { what: '… in the busiest second', is: `${mostInOneSecond}` },
    {
      what: '… written of them (none is dead)',
      is: listOf(written),
      target: { says: 'none', isMet: Object.keys(written).length === 0 },
    },
    { what: '… what agents met', is: listOf(troubles) },
    { what: '… cores used until then', is: coresOf(usedCores) },
  ]);
}
