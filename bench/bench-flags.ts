import { parseArgs } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentForm } from './agent-program.ts';

export interface BenchFlags {
  readonly joins: number;
  /** Joins before the measured ones, so that a hub that has run for a while is measured. */
  readonly warmUpJoins: number;
  /** How long nothing changes, to count what is written all the same. */
  readonly steadySeconds: number;
  readonly agentForm: AgentForm;
  /** For the Node that runs an agent. */
  readonly agentNodeFlags: readonly string[];
  readonly trace: boolean;
  readonly json: boolean;
  readonly save: boolean;
}

export const usage = `npm run bench -- [--joins 50] [--warm-up 3] [--steady-seconds 60] [--from-source] [--trace] [--json] [--save]

  --joins N            clusters that join, one after the other, each with an agent process of its own that goes on running
  --warm-up N          joins before them that are not measured
  --steady-seconds N   how long the writes of a hub at rest are counted
  --from-source        agents run from the repository's TypeScript, not from what \`npm run build\` makes
  --agent-node-flags='--lite-mode …'   for the Node that runs the agents
  --trace              also the timeline of the join in the middle
  --json               the result as JSON on stdout instead of the table
  --save               also keep it in bench/results/
`;

/**
 * @returns undefined when help was asked for
 * @throws RollcallError USAGE
 */
export function parseBenchFlags(args: readonly string[]): BenchFlags | undefined {
  const values = parseKnown(args);
  if (values.help) return undefined;
  return {
    joins: wholeNumber('--joins', values.joins, 1),
    warmUpJoins: wholeNumber('--warm-up', values['warm-up'], 0),
    steadySeconds: wholeNumber('--steady-seconds', values['steady-seconds'], 1),
    agentForm: values['from-source'] ? 'source' : 'compiled',
    agentNodeFlags: values['agent-node-flags'].split(' ').filter(Boolean),
    trace: values.trace,
    json: values.json,
    save: values.save,
  };
}

function parseKnown(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        joins: { type: 'string', default: '50' },
        'warm-up': { type: 'string', default: '3' },
        'steady-seconds': { type: 'string', default: '60' },
        'from-source': { type: 'boolean', default: false },
        'agent-node-flags': { type: 'string', default: '' },
        trace: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        save: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (cause) {
    throw new RollcallError('USAGE', (cause as Error).message, { cause });
  }
}

function wholeNumber(flag: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value >= least) return value;
  throw new RollcallError('USAGE', `${flag} "${text}" is no whole number of ${least} or more`);
}
