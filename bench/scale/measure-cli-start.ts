import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeAccess, kubeconfigYaml } from '@rollcall/shared/kubernetes';
import { exitCodes } from '../../cli/exit-code.ts';
import { compiledProgram } from '../hub/agent-program.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';

/** From the start of a process to its end, compiled as it is published. */
export interface CliStartResult {
  readonly runs: number;
  /** A Node that does nothing: what no program of ours can go below. */
  readonly emptyNodeMs: Spread;
  readonly versionMs: Spread;
  readonly helpMs: Spread;
  /** Up to where the hub's API server does not answer: everything that the command needs is loaded by then. */
  readonly getClustersMs: Spread;
}

const runs = 20;

/** Nothing listens on the port, so that the answer costs nothing. */
const nobodyThere: KubeAccess = {
  server: 'https://127.0.0.1:1',
  caPem: undefined,
  clusterName: 'none',
  contextName: 'none',
  userName: 'none',
  namespace: 'default',
};

/** In turns, so that what else the machine does strikes all alike. The first of each, which fills caches, does not count. */
export async function measureCliStart(say: (message: string) => void): Promise<CliStartResult> {
  say(`starting the CLI ${4 * runs} times`);
  const program = compiledProgram('cli/main.js');
  const home = mkdtempSync(join(tmpdir(), 'rollcall-bench-cli-'));
  const kubeconfig = join(home, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(nobodyThere));
  const commands = {
    emptyNodeMs: ['--eval', '0'],
    versionMs: [program, '--version'],
    helpMs: [program, '--help'],
    getClustersMs: [program, 'get', 'clusters', '--kubeconfig', kubeconfig],
  };
  const took: Record<keyof typeof commands, number[]> = {
    emptyNodeMs: [],
    versionMs: [],
    helpMs: [],
    getClustersMs: [],
  };
  try {
    for (let round = 0; round <= runs; round++) {
      for (const [name, args] of Object.entries(commands)) {
        const ms = await lastsMs(args, home);
        if (round > 0) took[name as keyof typeof commands].push(ms);
      }
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
  const { emptyNodeMs, versionMs, helpMs, getClustersMs } = took;
  return {
    runs,
    emptyNodeMs: spreadOf(emptyNodeMs),
    versionMs: spreadOf(versionMs),
    helpMs: spreadOf(helpMs),
    getClustersMs: spreadOf(getClustersMs),
  };
}

async function lastsMs(args: readonly string[], home: string): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: 'ignore',
    env: { ...process.env, ROLLCALL_HOME: home },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  const ms = performance.now() - from;
  // A crash would be fast, too.
  if (code !== 0 && code !== exitCodes.unreachable)
    throw new RollcallError('CHILD_FAILED', `"${args.join(' ')}" failed`);
  return ms;
}
