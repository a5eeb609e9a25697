import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeAccess } from './kube-access.ts';
import { tokenFile } from './token-file.ts';

/** Where the kubelet puts the ServiceAccount of a pod; elsewhere where nothing can be mounted (a sandbox without containers). */
function serviceAccountDirectory(): string {
  return process.env['ROLLCALL_SERVICE_ACCOUNT_DIR'] ?? '/var/run/secrets/kubernetes.io/serviceaccount';
}

/** The API server of the pod that we run in, or `undefined` outside of pods. */
export function inClusterServer(): string | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  return host && `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The access of the pod that we run in, or `undefined` outside of pods. */
export function inClusterAccess(): KubeAccess | undefined {
  const server = inClusterServer();
  const mount = serviceAccountDirectory();
  if (server === undefined || !existsSync(join(mount, 'token'))) return undefined;
  return {
    server,
    caPem: readFileSync(join(mount, 'ca.crt'), 'utf8'),
    token: tokenFile(join(mount, 'token')),
    namespace: readFileSync(join(mount, 'namespace'), 'utf8').trim(),
    clusterName: 'in-cluster',
    contextName: 'in-cluster',
    userName: 'serviceaccount',
  };
}
