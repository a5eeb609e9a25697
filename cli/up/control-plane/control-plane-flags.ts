import { type ControlPlaneKeys, frontProxyName, type KeyFiles } from './control-plane-keys.ts';

/** How an API server reaches an etcd; several may share one, each under its own prefix. */
export interface EtcdEndpoint {
  url: string;
  caPath: string;
  client: KeyFiles;
}

export function etcdFlags(options: {
  dataDir: string;
  clientPort: number;
  peerPort: number;
  keys: ControlPlaneKeys;
}): string[] {
  const { keys } = options;
  const clientUrl = `https://127.0.0.1:${options.clientPort}`;
  const peerUrl = `https://127.0.0.1:${options.peerPort}`;
  return [
    '--name=hub',
    `--data-dir=${options.dataDir}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=hub=${peerUrl}`,
    `--cert-file=${keys.etcdServer.certPath}`,
    `--key-file=${keys.etcdServer.keyPath}`,
    `--trusted-ca-file=${keys.etcdCaPath}`,
    '--client-cert-auth',
    `--peer-cert-file=${keys.etcdServer.certPath}`,
    `--peer-key-file=${keys.etcdServer.keyPath}`,
    `--peer-trusted-ca-file=${keys.etcdCaPath}`,
    '--peer-client-cert-auth',
    '--log-level=warn',
  ];
}

export interface ApiServerFlagOptions {
  port: number;
  keys: ControlPlaneKeys;
  etcd: EtcdEndpoint;
  etcdPrefix: string;
  serviceAccountIssuer: string;
  audit: { policyPath: string; logPath: string } | undefined;
  withWorkloads: boolean;
}

/** Of what runs on nodes, and of where its data lies. */
const workloadGroups = [
  'apps',
  'autoscaling',
  'batch',
  'node.k8s.io',
  'policy',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
];

/**
 * No node and no controller acts on these here. Without them the server starts with a fifth less CPU, takes 40 MiB less, and to empty
 * a namespace takes a third fewer requests (measured).
 */
const withoutWorkloads = `--runtime-config=${workloadGroups.map((group) => `${group}/v1=false`).join(',')},autoscaling/v2=false`;
/** These wait for kinds of those groups. */
const ofWorkloads = ['DefaultStorageClass', 'PersistentVolumeClaimResize', 'Priority', 'RuntimeClass'];
/** Its finalizer on claims would be taken off by a controller that does not run here. */
const ofVolumes = ['StorageObjectInUseProtection'];

/** APIs behind the server: who asks stands in headers, which are believed from this certificate alone. */
export const frontProxyFlags = (keys: ControlPlaneKeys): string[] => [
  `--requestheader-client-ca-file=${keys.frontProxyCaPath}`,
  `--requestheader-allowed-names=${frontProxyName}`,
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
  `--proxy-client-cert-file=${keys.frontProxy.certPath}`,
  `--proxy-client-key-file=${keys.frontProxy.keyPath}`,
];

export function apiServerFlags({ port, keys, etcd, audit, ...options }: ApiServerFlagOptions): string[] {
  return [
    `--etcd-servers=${etcd.url}`,
    `--etcd-cafile=${etcd.caPath}`,
    `--etcd-certfile=${etcd.client.certPath}`,
    `--etcd-keyfile=${etcd.client.keyPath}`,
    `--etcd-prefix=${options.etcdPrefix}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    // Otherwise it looks for a network interface, which a laptop without network does not have.
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${keys.apiServer.certPath}`,
    `--tls-private-key-file=${keys.apiServer.keyPath}`,
    `--client-ca-file=${keys.caPath}`,
    '--authorization-mode=RBAC',
    `--service-account-issuer=${options.serviceAccountIssuer}`,
    `--service-account-key-file=${keys.serviceAccountPublicKeyPath}`,
    `--service-account-signing-key-file=${keys.serviceAccountKeyPath}`,
    ...frontProxyFlags(keys),
    '--service-cluster-ip-range=10.0.0.0/24',
    '--profiling=false',
    ...(options.withWorkloads ? [] : [withoutWorkloads]),
    `--disable-admission-plugins=${[...(options.withWorkloads ? [] : ofWorkloads), ...ofVolumes].join(',')}`,
    ...(audit === undefined
      ? []
      : [`--audit-policy-file=${audit.policyPath}`, `--audit-log-path=${audit.logPath}`]),
  ];
}

/** Only what Rollcall needs of it: that deleted namespaces go away, and what an owner owns. */
export function controllerManagerFlags(kubeconfigPath: string): string[] {
  return [
    `--kubeconfig=${kubeconfigPath}`,
    '--controllers=namespace-controller,garbage-collector-controller',
    // Without it every controller is forbidden everything: RBAC names their ServiceAccounts only (facts).
    '--use-service-account-credentials',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    // To empty one takes 75 requests, each list and deletion of a kind. Ten at a time leave a small machine nothing for who joins.
    '--concurrent-namespace-syncs=1',
    '--concurrent-gc-syncs=2',
    '--leader-elect=false',
    '--secure-port=0',
    '--profiling=false',
  ];
}

/** One line a finished write with user, verb and object, for counting writes by user; reads are left out. */
export const writesAuditPolicy = (level: 'Metadata' | 'Request') => `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: ${level}
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`;
