import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeAccess } from './kube-access.ts';
import { tokenFile } from './token-file.ts';

/** Where the kubelet puts the ServiceAccount of a pod; elsewhere where nothing can be mounted (a sandbox without containers). */
function serviceAccountDirectory(): string {
  return process.env['ROLLCALL_SERVICE_ACCOUNT_DIR'] ?? '/var/run/secrets/kubernetes.io/serviceaccount';
}

/** The access of the pod that we run in, or `undefined` outside of pods. */
export function inClusterAccess(): KubeAccess | undefined {
  const host = process.env['KUBERNETES_SERVICE_HOST'];
  const mount = serviceAccountDirectory();
  const port = process.env['KUBERNETES_SERVICE_PORT'] ?? '443';
  if (host === undefined || !existsSync(join(mount, 'token'))) return undefined;
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    caPem: readFileSync(join(mount, 'ca.crt'), 'utf8'),
    token: tokenFile(join(mount, 'token')),
    namespace: readFileSync(join(mount, 'namespace'), 'utf8').trim(),
    clusterName: 'in-cluster',
    contextName: 'in-cluster',
    userName: 'serviceaccount',
  };
}
