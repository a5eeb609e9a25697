import { readFileSync } from 'node:fs';
import { RollcallError } from '@rollcall/shared/errors';
import { requestAccountToken } from '@rollcall/shared/kubernetes/account-token';
import { inClusterAccess } from '@rollcall/shared/kubernetes/in-cluster';
import { type HubFlags, openHub } from '../hub-access.ts';
import { printResult } from '../terminal/output.ts';
import { endOfToken, refusedWay, type WayDetails } from './profile-address.ts';

export interface CredentialsFlags extends HubFlags {
  readonly tokenFile?: string;
  readonly serviceAccount?: string;
  readonly hub?: string;
}

/** What a consumer's client library asks, as client-go writes it. */
interface ExecInfo {
  readonly apiVersion: string;
  readonly server: string | undefined;
  readonly details: WayDetails;
}

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const podTokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token';

const wrong = (why: string) =>
  new RollcallError('USAGE', `this is a credential plugin, run by tools that read ClusterProfiles: ${why}`);

/** @throws RollcallError USAGE */
function readExecInfo(text: string | undefined): ExecInfo {
  if (text === undefined) throw wrong('KUBERNETES_EXEC_INFO is not set');
  let asked: { apiVersion?: unknown; spec?: { cluster?: WayDetails & { server?: unknown } } };
  try {
    asked = JSON.parse(text) as typeof asked;
  } catch {
    throw wrong('KUBERNETES_EXEC_INFO is no JSON');
  }
  const apiVersion = versions.find((version) => version === asked.apiVersion);
  if (apiVersion === undefined) throw wrong(`its apiVersion must be ${versions.join(' or ')}`);
  const { server, ...details } = asked.spec?.cluster ?? {};
  return { apiVersion, server: typeof server === 'string' ? server : undefined, details };
}

interface Credential {
  readonly token: string;
  readonly expirationTimestamp?: string | undefined;
}

/** @throws RollcallError USAGE; KubeApiError */
async function ofAccount(account: string, flags: CredentialsFlags): Promise<Credential & { server: string }> {
  const [namespace = '', name = '', ...more] = account.split('/');
  if (namespace === '' || name === '' || more.length > 0)
    throw new RollcallError('USAGE', `"${account}" is no account; it is NAMESPACE/NAME`);
  const hub = openHub(flags);
  try {
    const { token = '', expirationTimestamp } = await requestAccountToken(hub, { namespace, name }, {});
    return { token, expirationTimestamp, server: hub.access.server };
  } finally {
    hub.close();
  }
}

function ofFile(path: string): Credential & { server: string | undefined } {
  let token: string;
  try {
    token = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new RollcallError('USAGE', `cannot read the token file "${path}"`, { cause });
  }
  return { token, expirationTimestamp: endOfToken(token), server: inClusterAccess()?.server };
}

/**
 * `rollcall credentials`: the consumer's own token for the hub, so that the hub's RBAC decides about it as about people. It is given
 * for a member's address on that hub only: whoever writes a profile must not learn the token.
 * @throws RollcallError USAGE, HUB_MISSING, KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN; KubeApiError
 */
export async function printCredential(flags: CredentialsFlags): Promise<void> {
  const asked = readExecInfo(process.env['KUBERNETES_EXEC_INFO']);
  const { serviceAccount } = flags;
  const found =
    serviceAccount === undefined
      ? ofFile(flags.tokenFile ?? podTokenFile)
      : await ofAccount(serviceAccount, flags);
  const refused = refusedWay(asked.server, flags.hub ?? found.server, asked.details);
  if (refused !== undefined) throw new RollcallError('USAGE', refused);
  const { token, expirationTimestamp } = found;
  const status = { token, ...(expirationTimestamp === undefined ? {} : { expirationTimestamp }) };
  printResult(JSON.stringify({ apiVersion: asked.apiVersion, kind: 'ExecCredential', status }));
}
