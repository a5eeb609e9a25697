import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { stringify } from 'yaml';
import { objectsIn } from '../../cli/install/deploy-templates.ts';
import { cacheFolder, pathInCache } from '../../tools/setup/cache-folder.mjs';
import { testTools } from '../../tools/setup/pinned-tools.mjs';
import { readRecord } from '../../tools/setup/program-record.mjs';

const charts = join(import.meta.dirname, '..', '..', 'deploy', 'charts');

function helmBinary(): string {
  const tool = testTools.find(({ name }) => name === 'helm');
  if (!tool) throw new Error('helm is not pinned');
  const places = [
    process.env[tool.env],
    readRecord().helm?.path,
    pathInCache(cacheFolder(process.env), tool),
  ];
  const found = places.find((path) => path !== undefined && existsSync(path));
  if (found !== undefined) return found;
  throw new Error('there is no helm: run `node tools/setup.mjs --tests` once');
}

export interface HelmResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** The real Helm, with nothing of anybody's own settings. */
export async function helm(args: readonly string[], kubeconfig = '/dev/null'): Promise<HelmResult> {
  const home = mkdtempSync(join(tmpdir(), 'rollcall-helm-'));
  const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig };
  const ended = Promise.withResolvers<HelmResult>();
  execFile(helmBinary(), [...args], { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
    ended.resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
  });
  return ended.promise.finally(() => rmSync(home, { recursive: true, force: true }));
}

/**
 * Runs Helm on one of our charts with these values (YAML, or what is made into it).
 * @param chart - its name, or the path of another one
 */
export async function helmWithChart(
  verb: readonly string[],
  chart: string,
  options: { values: object | string; namespace: string; kubeconfig?: string },
): Promise<HelmResult> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-values-'));
  const file = join(folder, 'values.yaml');
  const { values, namespace, kubeconfig } = options;
  writeFileSync(file, typeof values === 'string' ? values : stringify(values), { mode: 0o600 });
  const args = [...verb, resolve(charts, chart), '--namespace', namespace, '--values', file];
  return helm(args, kubeconfig).finally(() => rmSync(folder, { recursive: true, force: true }));
}

/** What `helm template` makes of these values, but for what `helm test` runs. */
export async function helmTemplate(
  chart: string,
  values: object | string,
  namespace: string,
): Promise<KubeObject[]> {
  const { code, stdout, stderr } = await helmWithChart(['template', 'test', '--skip-tests'], chart, {
    values,
    namespace,
  });
  if (code !== 0) throw new Error(stderr);
  return objectsIn(stdout);
}
