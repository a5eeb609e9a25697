import { stringify } from 'yaml';
import type { KubeAccess } from './kube-access.ts';

/** A kubeconfig for kubectl with everything inline. It holds keys: write it with mode 0600. */
export function kubeconfigYaml(access: KubeAccess): string {
  const { clusterName, contextName, userName, namespace } = access;
  const cluster = {
    server: access.server,
    'certificate-authority-data': base64(access.caPem),
    'tls-server-name': access.tlsServerName,
  };
  const user = {
    token: typeof access.token === 'string' ? access.token : undefined,
    'client-certificate-data': base64(access.certPem),
    'client-key-data': base64(access.keyPem),
  };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: clusterName, cluster }],
    users: [{ name: userName, user }],
    contexts: [{ name: contextName, context: { cluster: clusterName, user: userName, namespace } }],
    'current-context': contextName,
  });
}

function base64(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'utf8').toString('base64');
}
