import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import {
  createKubeClient,
  type KubeAccess,
  type KubeClient,
  loadKubeAccess,
} from '@rollcall/shared/kubernetes';
import type { SignedIn } from '@rollcall/console-service';
import { inClusterAccess } from '@rollcall/shared/kubernetes/in-cluster';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { say } from './terminal/output.ts';
import { stateDirectory, stateFile } from './state-directory.ts';

export interface HubFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Hidden alias of `context`, for people who come from Karmada. */
  readonly karmadaContext?: string;
  /** How long one question to the API server or the bus may take; default: that of the clients. No flag. */
  readonly askWithinMs?: number;
  /** A person who has signed in; then nothing of this machine counts: no kubeconfig, variable or file. No flag. */
  readonly as?: SignedIn;
}

/**
 * Which API server is the hub's: the flags; KUBECONFIG; the embedded hub of this directory; kubectl's own default.
 * @throws RollcallError KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN, HUB_MISSING
 */
export function hubAccess(flags: HubFlags): KubeAccess {
  if (flags.as) return flags.as.access;
  const { path, context } = hubKubeconfig(flags);
  if (path === undefined && isNoKubeconfigAnywhere()) {
    throw new RollcallError(
      'HUB_MISSING',
      `there is no hub in "${stateDirectory()}", and no kubeconfig says where one is`,
    );
  }
  return loadKubeAccess({ path, context });
}

/** The same as a kubeconfig and a context in it; undefined where kubectl's own default counts. */
export function hubKubeconfig(flags: HubFlags): {
  readonly path: string | undefined;
  readonly context: string | undefined;
} {
  const embedded = process.env['KUBECONFIG'] ? undefined : stateFile('kubeconfig');
  return { path: flags.kubeconfig ?? embedded, context: flags.context ?? flags.karmadaContext };
}

/** Nobody named a kubeconfig, kubectl has none, and this is no pod: what is missing is a hub. */
function isNoKubeconfigAnywhere(): boolean {
  return (
    !process.env['KUBECONFIG'] &&
    !existsSync(join(homedir(), '.kube', 'config')) &&
    inClusterAccess() === undefined
  );
}

/** A client for the hub, as the person of the kubeconfig. The caller closes it. */
export function openHub(flags: HubFlags): KubeClient {
  const userAgent = `rollcall/${rollcallVersion}`;
  const { askWithinMs: timeoutMs } = flags;
  return createKubeClient(hubAccess(flags), {
    fieldManager: 'rollcall-cli',
    userAgent,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

let said: string | undefined;

/** Before anything acts, people see on what: once, also where a command opens the hub several times. */
export function sayHub({ access }: Pick<KubeClient, 'access'>): void {
  const text = `hub: ${access.server} (context "${access.contextName}", user "${access.userName}")`;
  if (text !== said) say(text);
  said = text;
}
