import { basename } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import type { DocumentFormat } from '../terminal/document-text.ts';
import type { Scenario } from './scenario.ts';
import { readScenario } from './scenario-file.ts';

export interface SimulateFlags {
  readonly clusters: string;
  readonly real: string;
  readonly rate: string;
  readonly scenario: string;
  readonly seed: string;
  readonly shown: string;
  readonly keep?: boolean;
  readonly output: 'text' | DocumentFormat;
}

export interface SimulationSettings {
  readonly clusters: number;
  readonly real: number;
  readonly joinsPerSecond: number;
  readonly shown: number;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly name: string;
}

function wholeNumber(flag: string, text: string, bounds: { least: number; most: number }): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= bounds.least && value <= bounds.most) return value;
  throw new RollcallError(
    'USAGE',
    `${flag} "${text}" is no whole number between ${bounds.least} and ${bounds.most}`,
  );
}

/** @throws RollcallError USAGE, SCENARIO_INVALID */
export function settingsOf(flags: SimulateFlags): SimulationSettings {
  const clusters = wholeNumber('--clusters', flags.clusters, { least: 1, most: 1_000_000 });
  return {
    clusters,
    real: wholeNumber('--real', flags.real, { least: 0, most: Math.min(clusters, 5000) }),
    joinsPerSecond: wholeNumber('--rate', flags.rate, { least: 1, most: 10_000 }),
    shown: wholeNumber('--shown', flags.shown, { least: 0, most: 1_000_000 }),
    seed: wholeNumber('--seed', flags.seed, { least: 0, most: 2 ** 32 - 1 }),
    scenario: readScenario(flags.scenario),
    name: basename(flags.scenario).replace(/\.ya?ml$/, ''),
  };
}

/** Whether the cluster has an agent of its own. Spread over the fleet, so that each group has its share of them. */
export function isReal(
  cluster: number,
  { real, clusters }: Pick<SimulationSettings, 'real' | 'clusters'>,
): boolean {
  if (cluster >= clusters) return false;
  return Math.floor(((cluster + 1) * real) / clusters) > Math.floor((cluster * real) / clusters);
}
