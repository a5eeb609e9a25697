import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import { type HubName, hubs } from './numbers/hubs.ts';
import { type ScenarioName, scenarioNames } from './scenarios.ts';

export interface ModelFlags {
  readonly clusters: number;
  readonly hub: HubName;
  readonly only: readonly ScenarioName[];
  readonly seed: number;
  readonly followed: number;
  /** Numbers that differ, by name. */
  readonly changed: Readonly<Record<string, number>>;
  readonly withLimits: boolean;
  readonly withComparison: boolean;
  readonly json: boolean;
}

export const usage = `npm run model -- [--clusters N] [--hub NAME] [--set NAME=NUMBER]… [--costs FILE] [--json]

  --clusters N         how large the fleet is (1000000)
  --hub NAME           ${Object.keys(hubs).join(', ')}; default: wide
                       usual: three NATS servers, every setting as it is; wide: as docs/scale.md builds it for a million
  --set NAME=NUMBER    another cost, assumption or part of the hub, by its name in the tables; as often as you like
  --costs FILE         the same as JSON, {"apiWriteMs": 2, "natsServers": 20}; --set goes before it
  --only NAME,…        ${scenarioNames.join(', ')}; default: all
  --seed N             the same seed and numbers give the same result (1)
  --followed N         agents that one scenario follows; of a larger fleet several are followed as one (50000)
  --no-limits          without looking for where a growing fleet breaks first
  --compare            only the model beside what was measured
  --json               the result as JSON on stdout instead of tables
`;

/**
 * @returns undefined when help was asked for
 * @throws RollcallError USAGE
 */
export function parseModelFlags(args: readonly string[]): ModelFlags | undefined {
  const values = parseKnown(args);
  if (values.help) return undefined;
  return {
    clusters: wholeNumber('--clusters', values.clusters),
    hub: hubOf(values.hub),
    only: scenariosOf(values.only),
    seed: wholeNumber('--seed', values.seed),
    followed: wholeNumber('--followed', values.followed),
    changed: { ...(values.costs === undefined ? {} : readNumbers(values.costs)), ...settingsOf(values.set) },
    withLimits: !values['no-limits'],
    withComparison: values.compare,
    json: values.json,
  };
}

function parseKnown(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        clusters: { type: 'string', default: '1000000' },
        hub: { type: 'string', default: 'wide' },
        set: { type: 'string', multiple: true, default: [] },
        costs: { type: 'string' },
        only: { type: 'string', default: scenarioNames.join(',') },
        seed: { type: 'string', default: '1' },
        followed: { type: 'string', default: '50000' },
        'no-limits': { type: 'boolean', default: false },
        compare: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (cause) {
    throw new RollcallError('USAGE', (cause as Error).message, { cause });
  }
}

function wholeNumber(flag: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new RollcallError('USAGE', `${flag} must be a whole number from 1 on, not "${text}"`);
}

function hubOf(text: string): HubName {
  if (Object.hasOwn(hubs, text)) return text as HubName;
  throw new RollcallError('USAGE', `--hub must be one of ${Object.keys(hubs).join(', ')}, not "${text}"`);
}

function scenariosOf(text: string): ScenarioName[] {
  const asked = text.split(',').filter(Boolean);
  const unknown = asked.find((name) => !scenarioNames.some((known) => known === name));
  if (unknown !== undefined) throw new RollcallError('USAGE', `the model has no scenario "${unknown}"`);
  return scenarioNames.filter((name) => asked.includes(name));
}

function settingsOf(texts: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    texts.map((text) => {
      const [name = '', value = ''] = text.split('=');
      if (value === '') throw new RollcallError('USAGE', `--set wants NAME=NUMBER, not "${text}"`);
      return [name, Number(value)];
    }),
  );
}

function readNumbers(path: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, number>;
  } catch (cause) {
    throw new RollcallError('USAGE', `"${path}" is no JSON file: ${(cause as Error).message}`, { cause });
  }
}
