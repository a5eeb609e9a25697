import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parseBoundedYaml } from '@rollcall/shared/config/bounded-yaml';
import { RollcallError } from '../../errors/index.ts';
import { execToken } from './exec-credential.ts';
import { inClusterAccess } from './in-cluster.ts';
import type { KubeAccess, TokenSource } from './kube-access.ts';
import {
  type KubeconfigCluster,
  type KubeconfigContext,
  type KubeconfigFile,
  type KubeconfigUser,
  readKubeconfigShape,
} from './kubeconfig-shape.ts';
import { tokenFile } from './token-file.ts';

/** An entry and the folder of its file, which the paths in it are relative to. */
type Entry<T> = T & { folder: string };
interface Kubeconfig {
  currentContext: string | undefined;
  clusters: Map<string, Entry<KubeconfigCluster>>;
  users: Map<string, Entry<KubeconfigUser>>;
  contexts: Map<string, KubeconfigContext>;
}

/**
 * Finds out where the API server is and who we are, in kubectl's order: `path`; the files of KUBECONFIG; `~/.kube/config`;
 * and without any of them the ServiceAccount of the pod that we run in.
 * @throws RollcallError `KUBECONFIG_INVALID`, `KUBE_CONTEXT_UNKNOWN`
 */
export function loadKubeAccess(
  options: { path?: string | undefined; context?: string | undefined } = {},
): KubeAccess {
  const paths = kubeconfigPaths(options.path);
  const files = paths.map((path) => ({
    path,
    text: readIfThere(path, paths.length === 1 && options.path !== undefined),
  }));
  const found = files.filter((file): file is { path: string; text: string } => file.text !== undefined);
  if (found.length > 0) return accessFromKubeconfig(found, options.context);
  const inCluster = options.context === undefined ? inClusterAccess() : undefined;
  if (inCluster !== undefined) return inCluster;
  throw new RollcallError('KUBECONFIG_INVALID', `no kubeconfig at "${paths.join('", "')}" and not in a pod`);
}

/** The same from texts that were read before. Of entries with one name, the first counts, as with kubectl. */
export function accessFromKubeconfig(
  files: readonly { path: string; text: string }[],
  context?: string,
): KubeAccess {
  const config = merge(files);
  const shown = files.map((file) => file.path).join(delimiter);
  const contextName = context ?? config.currentContext;
  if (contextName === undefined) {
    throw new RollcallError('KUBE_CONTEXT_UNKNOWN', `no context was given and "${shown}" has no current one`);
  }
  const chosen = config.contexts.get(contextName);
  if (chosen === undefined) {
    const known = [...config.contexts.keys()].map((name) => `"${name}"`).join(', ');
    throw new RollcallError(
      'KUBE_CONTEXT_UNKNOWN',
      `no context "${contextName}" in "${shown}" (it has ${known || 'none'})`,
    );
  }
  const cluster = config.clusters.get(chosen.cluster);
  const user = config.users.get(chosen.user);
  if (cluster === undefined)
    throw invalid(shown, `context "${contextName}" names an unknown cluster "${chosen.cluster}"`);
  if (user === undefined)
    throw invalid(shown, `context "${contextName}" names an unknown user "${chosen.user}"`);
  if (!URL.canParse(cluster.server) || new URL(cluster.server).protocol !== 'https:') {
    throw invalid(
      shown,
      `cluster "${chosen.cluster}": the server "${cluster.server}" is not an https address`,
    );
  }
  if (cluster['insecure-skip-tls-verify'] === true) {
    throw invalid(
      shown,
      `cluster "${chosen.cluster}": insecure-skip-tls-verify is refused, give a certificate-authority`,
    );
  }
  if (cluster['proxy-url']) {
    throw invalid(shown, `cluster "${chosen.cluster}": proxy-url is not supported`);
  }
  return {
    server: cluster.server,
    caPem: pemOf(cluster, cluster['certificate-authority-data'], cluster['certificate-authority']),
    tlsServerName: cluster['tls-server-name'] || undefined,
    token: tokenOf(user),
    certPem: pemOf(user, user['client-certificate-data'], user['client-certificate']),
    keyPem: pemOf(user, user['client-key-data'], user['client-key']),
    namespace: chosen.namespace || 'default',
    clusterName: chosen.cluster,
    contextName,
    userName: chosen.user,
  };
}

function kubeconfigPaths(path: string | undefined): string[] {
  if (path !== undefined) return [path];
  const fromEnvironment = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((part) => part !== '');
  return fromEnvironment.length > 0 ? fromEnvironment : [join(homedir(), '.kube', 'config')];
}

function merge(files: readonly { path: string; text: string }[]): Kubeconfig {
  const merged: Kubeconfig = {
    currentContext: undefined,
    clusters: new Map(),
    users: new Map(),
    contexts: new Map(),
  };
  for (const { path, text } of files) {
    const file = parseFile(path, text);
    const folder = dirname(resolve(path));
    merged.currentContext ??= file['current-context'] || undefined;
    for (const { name, cluster } of file.clusters ?? [])
      addFirst(merged.clusters, name, { ...cluster, folder });
    for (const { name, user } of file.users ?? []) addFirst(merged.users, name, { ...user, folder });
    for (const { name, context } of file.contexts ?? []) addFirst(merged.contexts, name, context);
  }
  return merged;
}

function addFirst<T>(map: Map<string, T>, name: string, value: T): void {
  if (!map.has(name)) map.set(name, value);
}

function parseFile(path: string, text: string): KubeconfigFile {
  let content: unknown;
  try {
    content = parseBoundedYaml(text) ?? {};
  } catch (error) {
    // The parser's message quotes the file, which holds keys: only the place is shown.
    const place = /line \d+, column \d+/.exec(String(error))?.[0];
    throw invalid(
      path,
      place ? `not YAML at ${place}` : 'longer, nested deeper or with more keys than any kubeconfig',
    );
  }
  const read = readKubeconfigShape(content);
  if ('problems' in read) throw invalid(path, read.problems.join(', '));
  return read;
}

/** In kubectl's order; what is empty is not there. */
function tokenOf(user: Entry<KubeconfigUser>): string | TokenSource | undefined {
  const { token } = user;
  if (user.tokenFile) {
    const read = tokenFile(resolve(user.folder, user.tokenFile));
    return token ? () => read().catch(() => token) : read;
  }
  if (token) return token;
  return user.exec ? execToken(user.exec, user.folder) : undefined;
}

function pemOf(
  entry: { folder: string },
  data: string | undefined,
  path: string | undefined,
): string | undefined {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  return path ? readIfThere(resolve(entry.folder, path), true) : undefined;
}

function readIfThere(path: string, required: boolean): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing && !required) return undefined;
    const why = isMissing ? 'there is no such file' : 'it cannot be read';
    throw new RollcallError('KUBECONFIG_INVALID', `cannot read "${path}": ${why}`, { cause: error });
  }
}

function invalid(path: string, problem: string): RollcallError {
  return new RollcallError('KUBECONFIG_INVALID', `"${path}": ${problem}`);
}
