import { RollcallError } from '@rollcall/shared/errors';
import { type KubeAccess, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { stringify } from 'yaml';
import { waitForObject } from '../../wait-for-object.ts';
import { type FilesSecret, filesSecret } from '../files-secret.ts';
import type { HubPlaces } from './hub-places.ts';

const namespace = 'rollcall-system';

/** Who of a hub uses its API server, and the Secret there that has the token (deploy/hub/service-tokens.yaml, admission-probe.yaml). */
const tokenSecrets: Readonly<Record<string, string>> = {
  'agent-host': 'rollcall-token-agent-host',
  approver: 'rollcall-token-approver',
  'member-gateway': 'rollcall-token-member-gateway',
  projector: 'rollcall-token-projector',
  'rbac-provisioner': 'rollcall-token-rbac-provisioner',
  'admission-probe': 'rollcall-admission-probe',
};

/** The token lies beside it: a file that is read again, so that another token needs no restart. */
function kubeconfigOf({ server, caPem, tlsServerName }: KubeAccess): string {
  const ca = caPem === undefined ? undefined : Buffer.from(caPem).toString('base64');
  const cluster = { server, 'certificate-authority-data': ca, 'tls-server-name': tlsServerName };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'hub', cluster }],
    users: [{ name: 'service', user: { tokenFile: 'token' } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'service' } }],
    'current-context': 'hub',
  });
}

type TokenSecret = KubeObject & { readonly data?: { readonly token?: string } };

async function tokenIn(hub: KubeClient, name: string, timeoutMs: number): Promise<string> {
  const on = { resource: resources.secrets, name, namespace, timeoutMs };
  const found = await waitForObject<TokenSecret>(hub, on, ({ data }) => data?.token !== undefined);
  if (found?.data?.token !== undefined) return Buffer.from(found.data.token, 'base64').toString('utf8');
  throw new RollcallError(
    'DEADLINE_EXCEEDED',
    `Kubernetes has not put a token into Secret ${namespace}/${name} of the hub after ${timeoutMs / 1000} s`,
  );
}

async function serviceTokens(hub: KubeClient): Promise<readonly boolean[]> {
  const names = Object.values(tokenSecrets);
  const found = await Promise.all(names.map((name) => hub.get(resources.secrets, { name, namespace })));
  return found.map((secret) => secret !== undefined);
}

/** Whether the API server of the hub has all that the kubeconfigs are made of; one of an older version has some. */
export const hasServiceTokens = async (hub: KubeClient): Promise<boolean> =>
  (await serviceTokens(hub)).every(Boolean);

/**
 * Of a hub whose pods run elsewhere their cluster has to be named each time: else a second hub would come up here, or only half of
 * this one would go.
 * @throws RollcallError USAGE
 */
export async function refuseForgottenPlace({
  hub,
  areApart,
}: Pick<HubPlaces, 'hub' | 'areApart'>): Promise<void> {
  // The admission probe is everywhere; tokens of services are where no pods are.
  if (areApart || (await serviceTokens(hub)).filter(Boolean).length <= 1) return;
  throw new RollcallError(
    'USAGE',
    'the pods of this hub run in another cluster: name it with --workloads-context or --workloads-kubeconfig',
  );
}

/** The console is nobody there: it only has to know the server to which it takes the tokens of people. */
const addressForConsole = ({ server, caPem }: KubeAccess): FilesSecret =>
  filesSecret('rollcall-kubeconfig-console', { server, ...(caPem === undefined ? {} : { 'ca.crt': caPem }) });

/**
 * How services that run in another cluster reach the API server of their hub, as who they are there: a Secret each.
 * @throws RollcallError DEADLINE_EXCEEDED where Kubernetes makes no token
 */
export async function hubKubeconfigs(hub: KubeClient, timeoutMs: number): Promise<FilesSecret[]> {
  const kubeconfig = kubeconfigOf(hub.access);
  const ofServices = await Promise.all(
    Object.entries(tokenSecrets).map(async ([name, secret]) => {
      const token = await tokenIn(hub, secret, timeoutMs);
      return filesSecret(`rollcall-kubeconfig-${name}`, { kubeconfig, token });
    }),
  );
  return [...ofServices, addressForConsole(hub.access)];
}
