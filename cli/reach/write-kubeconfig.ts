import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { listPages } from '@rollcall/shared/kubernetes/list-pages';
import { stringify } from 'yaml';
import { type HubFlags, openHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { writePrivate } from '../up/private-files.ts';
import { askKubectl, contextOf, memberKubeconfig } from './member-kubeconfig.ts';

export interface KubeconfigFlags extends HubFlags {
  readonly set?: string;
  readonly all?: boolean;
  readonly merge?: boolean;
}

async function namesOn(hub: KubeClient, labelSelector: string | undefined): Promise<string[]> {
  const names: string[] = [];
  for await (const page of listPages(hub, resources.managedClusters, { labelSelector }))
    names.push(...page.items.map(({ metadata }) => metadata.name));
  return names;
}

/** @throws RollcallError USAGE, NOT_FOUND; KubeApiError */
async function wantedNames(names: readonly string[], flags: KubeconfigFlags): Promise<readonly string[]> {
  const ways = [names.length > 0, flags.set !== undefined, flags.all === true].filter(Boolean);
  if (ways.length !== 1) throw new RollcallError('USAGE', 'give names of clusters, or --set, or --all');
  const hub = openHub(flags);
  try {
    const selector = flags.set === undefined ? undefined : `rollcall.dev/cluster-set=${flags.set}`;
    if (names.length === 0) {
      const found = await namesOn(hub, selector);
      if (found.length > 0) return found;
      throw new RollcallError('NOT_FOUND', 'there is no such cluster on the hub');
    }
    for (const name of names)
      if ((await hub.get(resources.managedClusters, { name })) === undefined)
        throw new RollcallError('NOT_FOUND', `there is no cluster "${name}" on the hub`);
    return names;
  } finally {
    hub.close();
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Where kubectl itself would write to. */
function ownKubeconfig(env: Environment): string {
  const files = (env['KUBECONFIG'] ?? '').split(delimiter);
  return files.find((file) => file !== '') ?? join(homedir(), '.kube', 'config');
}

/**
 * New entries win over older ones of the same names, which were written here as well. What stands in other files stays there, and
 * files that entries name stay files: a copy of them would be an old one soon.
 */
export async function merge(
  text: string,
  { ask = askKubectl, env = process.env }: { ask?: typeof askKubectl; env?: Environment } = {},
): Promise<string> {
  const own = ownKubeconfig(env);
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-kubeconfig-'));
  try {
    const added = join(folder, 'added');
    writePrivate(added, text);
    const merged = await ask(['config', 'view', '--raw'], [added, own].join(delimiter));
    writePrivate(existsSync(own) ? realpathSync(own) : own, merged);
    return own;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * `rollcall kubeconfig NAME…`: contexts for members by way of the hub, with the person's own credentials for the hub in them.
 * @throws RollcallError USAGE, NOT_FOUND, BINARY_MISSING, KUBECONFIG_INVALID; KubeApiError
 */
export async function writeKubeconfig(names: readonly string[], flags: KubeconfigFlags): Promise<void> {
  const wanted = await wantedNames(names, flags);
  const kubeconfig = await memberKubeconfig(wanted, flags);
  if (!flags.merge) {
    printResult(stringify(kubeconfig).trimEnd());
    return;
  }
  // The context that is selected there stays selected.
  const { 'current-context': _none, ...entries } = kubeconfig as { 'current-context': string };
  const path = await merge(stringify(entries));
  for (const name of wanted) say(`context "${contextOf(name)}" is written`);
  printResult(path);
}
