import { execFileSync, type StdioOptions } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { rollcallVersion } from '@rollcall/shared/service/version';
import type { InstalledResult } from './installed/measure-installed.ts';
import type { JoinsResult } from './joins/joins-result.ts';
import type { HeartbeatsResult } from './liveness/measure-heartbeats.ts';
import type { BurstResult } from './joins/measure-burst.ts';
import type { CalloutResult } from './trust/measure-callout.ts';
import type { CliStartResult } from './scale/measure-cli-start.ts';
import type { ConsoleResult } from './scale/measure-console.ts';
import type { DurabilityResult } from './joins/measure-durability.ts';
import type { FloodResult } from './trust/measure-flood.ts';
import type { HostedResult } from './scale/measure-hosted.ts';
import type { LeavingResult } from './trust/measure-leaving.ts';
import type { LivenessResult } from './liveness/measure-liveness.ts';
import type { HerdResult } from './liveness/measure-herd.ts';
import type { LapsedResult } from './liveness/measure-lapsed.ts';
import type { NodesResult } from './scale/measure-nodes.ts';
import type { PolicyResult } from './scale/measure-policies.ts';
import type { ProjectorResult } from './scale/measure-projector.ts';
import type { ReachResult } from './reach/measure-reach.ts';
import type { ReplicasResult } from './joins/measure-replicas.ts';
import type { RequestsResult } from './scale/measure-requests.ts';
import type { RestartResult } from './liveness/measure-restart.ts';
import type { RestoreResult } from './trust/measure-restore.ts';
import type { RevocationResult } from './trust/measure-revocation.ts';
import type { SimulationResult } from './scale/measure-simulation.ts';
import type { SoakResult } from './soak/measure-soak.ts';
import type { Steady } from './joins/measure-steady.ts';
import type { UnregisterResult } from './trust/measure-unregister.ts';
import type { RenewalSpread } from './trust/renewal-spread.ts';

/** What can be run by itself (`--only`), in the order in which it is run and shown. */
export const partNames = [
  'joins',
  'everything',
  'burst',
  'policies',
  'cli',
  'console',
  'simulation',
  'revocation',
  'callout',
  'renewal',
  'flood',
  'unregister',
  'leaving',
  'hosted',
  'nodes',
  'nodes-install',
  'reach',
  'restore',
  'heartbeats',
  'restart',
  'liveness',
  'durability',
  'replicas',
  'requests',
  'rest',
  'projector',
  'herd',
  'lapsed',
  'soak',
] as const;
export type PartName = (typeof partNames)[number];
/** The soak alone takes as long as all others. */
export const partsByDefault = partNames.filter((name) => name !== 'soak');

/** What a run found, by part. */
export interface PartResults {
  readonly joins?: JoinsResult;
  readonly everything?: JoinsResult;
  readonly burst?: BurstResult;
  readonly policies?: PolicyResult;
  readonly cli?: CliStartResult;
  readonly console?: ConsoleResult;
  readonly simulation?: SimulationResult;
  readonly revocation?: RevocationResult;
  readonly callout?: CalloutResult;
  readonly renewal?: readonly RenewalSpread[];
  readonly flood?: readonly FloodResult[];
  readonly unregister?: UnregisterResult;
  readonly leaving?: LeavingResult;
  readonly hosted?: HostedResult;
  readonly nodes?: NodesResult;
  readonly installed?: InstalledResult;
  readonly reach?: ReachResult;
  readonly restore?: RestoreResult;
  readonly heartbeats?: HeartbeatsResult;
  readonly restart?: RestartResult;
  readonly liveness?: LivenessResult;
  readonly durability?: readonly DurabilityResult[];
  readonly replicas?: readonly ReplicasResult[];
  readonly requests?: RequestsResult;
  readonly rest?: Steady;
  readonly projector?: ProjectorResult;
  readonly herd?: HerdResult;
  readonly lapsed?: LapsedResult;
  readonly soak?: SoakResult;
}

/** Everything that a run found; what `--json` prints and `--save` keeps. */
export interface BenchResult extends PartResults {
  readonly date: string;
  readonly commit: string;
  readonly version: string;
  readonly machine: {
    readonly cores: number;
    readonly cpu: string;
    readonly memoryBytes: number;
    readonly node: string;
    /** 1 minute, when the bench began and ended: above the number of cores, times are those of a busy machine. */
    readonly loadBefore: number;
    readonly loadAfter: number;
  };
}

/** @param began - when the run began, and the load before it */
export function resultOf(parts: PartResults, began: { atMs: number; load: number }): BenchResult {
  return {
    date: new Date(began.atMs).toISOString(),
    commit: commitOf(),
    version: rollcallVersion,
    machine: {
      cores: cpus().length,
      cpu: cpus()[0]?.model ?? 'unknown',
      memoryBytes: totalmem(),
      node: process.version,
      loadBefore: began.load,
      loadAfter: loadavg()[0] ?? Number.NaN,
    },
    ...parts,
  };
}

/** With `-changed` when the working tree is not what was committed. */
function commitOf(): string {
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '-changed'}`;
  } catch {
    return 'unknown';
  }
}

function git(...args: string[]): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  return execFileSync('git', args, { encoding: 'utf8', cwd: import.meta.dirname, stdio }).trim();
}
