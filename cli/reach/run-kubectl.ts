import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { stringify } from 'yaml';
import type { HubFlags } from '../hub-access.ts';
import { writePrivate } from '../up/private-files.ts';
import { kubectlPath, memberKubeconfig } from './member-kubeconfig.ts';

const ignore = () => undefined;

/**
 * `rollcall kubectl NAME -- ARGS`: kubectl on a member by way of the hub. Its exit code is ours.
 * @throws RollcallError BINARY_MISSING, KUBECONFIG_INVALID, USAGE
 */
export async function runKubectl(name: string, args: readonly string[], flags: HubFlags): Promise<void> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name))
    throw new RollcallError('USAGE', `"${name}" is no name of a cluster`);
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-kubectl-'));
  try {
    const kubeconfig = join(folder, 'kubeconfig');
    writePrivate(kubeconfig, stringify(await memberKubeconfig([name], flags)));
    const child = spawn(kubectlPath(), ['--kubeconfig', kubeconfig, ...args], { stdio: 'inherit' });
    // Ctrl-C reaches both; what kubectl does about it counts.
    process.on('SIGINT', ignore);
    const [code] = (await once(child, 'close')) as [number | null];
    process.off('SIGINT', ignore);
    process.exitCode = code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
