import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import { type HubFlags, hubKubeconfig } from '../hub-access.ts';
import { findBinary } from '../up/binaries.ts';

interface Named {
  readonly name: string;
}
interface Kubeconfig {
  readonly clusters: readonly (Named & { readonly cluster: { readonly server: string } })[];
  readonly users: readonly Named[];
  readonly contexts: readonly (Named & { readonly context: Readonly<Record<string, unknown>> })[];
}

const mostBytes = 64 * 1024 * 1024;

/** The kubectl of set-up, which goes with the hub of `rollcall up`; else the one on PATH. */
export function kubectlPath(): string {
  try {
    return findBinary('kubectl');
  } catch {
    return 'kubectl';
  }
}

/**
 * What kubectl says, for what it knows best: how a person's kubeconfigs are merged, with plugins, files and all.
 * @throws RollcallError BINARY_MISSING, KUBECONFIG_INVALID
 */
export async function askKubectl(args: readonly string[], kubeconfig?: string): Promise<string> {
  const env = kubeconfig === undefined ? process.env : { ...process.env, KUBECONFIG: kubeconfig };
  try {
    const { stdout } = await promisify(execFile)(kubectlPath(), [...args], { env, maxBuffer: mostBytes });
    return stdout;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new RollcallError('BINARY_MISSING', 'neither set-up nor PATH has a program "kubectl"', {
        cause,
      });
    const said = (cause as { stderr?: string }).stderr?.trim() ?? String(cause);
    throw new RollcallError('KUBECONFIG_INVALID', `the kubeconfig cannot be read: ${said}`, { cause });
  }
}

/** The context of a member in a kubeconfig that is written here. */
export const contextOf = (name: string): string => `rollcall-${name}`;

/**
 * A kubeconfig for members by way of the hub: the person's own credentials for the hub, and an address for each member.
 * @throws RollcallError as `askKubectl`
 */
export async function memberKubeconfig(names: readonly string[], flags: HubFlags): Promise<object> {
  const { path, context } = hubKubeconfig(flags);
  const place = path === undefined ? [] : ['--kubeconfig', path];
  const chosen = context === undefined ? [] : ['--context', context];
  const view = ['config', 'view', '--raw', '--flatten', '--minify', '-o', 'json'];
  const hub = JSON.parse(await askKubectl([...view, ...place, ...chosen])) as Kubeconfig;
  const [cluster] = hub.clusters;
  const [user] = hub.users;
  if (!cluster || !user)
    throw new RollcallError('KUBECONFIG_INVALID', 'the kubeconfig names no hub and no user to take over');
  const own = `${contextOf('hub')}-${user.name}`;
  const server = cluster.cluster.server.replace(/\/$/, '');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: names.map((name) => ({
      name: contextOf(name),
      cluster: {
        ...cluster.cluster,
        server: `${server}/apis/proxy.rollcall.dev/v1alpha1/managedclusters/${name}/proxy`,
      },
    })),
    users: [{ ...user, name: own }],
    contexts: names.map((name) => ({
      name: contextOf(name),
      context: { cluster: contextOf(name), user: own },
    })),
    'current-context': names.length === 1 ? contextOf(names[0] ?? '') : '',
  };
}
