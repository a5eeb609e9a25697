import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  createKubeClient,
  type KubeAccess,
  type KubeClient,
  kubeconfigYaml,
} from '@rollcall/shared/kubernetes';
import { issueCertificate } from '@rollcall/shared/trust';
import { findBinary } from '../../../cli/up/binaries.ts';
import { etcdFlags, frontProxyFlags } from '../../../cli/up/control-plane/control-plane-flags.ts';
import { prepareKeys } from '../../../cli/up/control-plane/control-plane-keys.ts';
import { writePrivate } from '../../../cli/up/private-files.ts';
import type { Place } from './places.ts';
import type { Programs } from './programs.ts';

const dayMs = 86_400_000;

/** What a node of the cluster is started with. */
export interface NodeKeys {
  readonly caPath: string;
  /** By which the API server knows the kubelet. */
  readonly certificate: { certPath: string; keyPath: string };
  /** Kubeconfigs. */
  readonly kubelet: string;
  readonly proxy: string;
  /** Address of the cluster's DNS. */
  readonly dns: string;
}

/** The keys of a cluster and what its servers and its kubelets are started with. */
export interface ClusterFiles {
  readonly admin: KubeClient;
  readonly adminKubeconfig: string;
  /** Makes the keys of a node. */
  nodeFiles(place: Place): NodeKeys;
  /** In the order in which they start. */
  readonly servers: Readonly<
    Record<'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler', string[]>
  >;
}

/** Makes, or finds, what a cluster of that place is started with. */
export function prepareCluster(place: Place, programs: Programs): ClusterFiles {
  const { address, services, pods } = place;
  const folder = join(place.folder, 'pki');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keys = prepareKeys(folder);
  const server = `https://${address}:6443`;
  const from = { ca: keys.ca, validForMs: dayMs, nowMs: Date.now() };

  function write(name: string, issued: { certificatePem: string; privateKeyPem: string }) {
    const files = { certPath: join(folder, `${name}.crt`), keyPath: join(folder, `${name}.key`) };
    writePrivate(files.certPath, issued.certificatePem);
    writePrivate(files.keyPath, issued.privateKeyPem);
    return files;
  }
  const accessOf = (name: string, groups: readonly string[] = []): KubeAccess => {
    const { certificatePem: certPem, privateKeyPem: keyPem } = keys.userCertificate(name, groups);
    const names = { clusterName: place.name, contextName: place.name, userName: name, namespace: 'default' };
    return { server, caPem: keys.ca.certificatePem, certPem, keyPem, ...names };
  };
  function kubeconfig(file: string, access: KubeAccess): string {
    const path = join(folder, `${file}.kubeconfig`);
    writePrivate(path, kubeconfigYaml(access));
    return path;
  }
  const kubernetes = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  const ofServer = {
    dnsNames: ['localhost', ...kubernetes],
    ipAddresses: ['127.0.0.1', address, `${services}.1`],
  };
  const serving = write(
    'server',
    issueCertificate({ ...from, ...ofServer, commonName: 'kube-apiserver', usages: ['server'] }),
  );
  const asClient = { dnsNames: [], ipAddresses: [], usages: ['client'] as const };
  const toKubelet = {
    ...from,
    ...asClient,
    commonName: 'kube-apiserver-kubelet-client',
    organizations: ['system:masters'],
  };
  const kubeletClient = write('kubelet-client', issueCertificate({ ...toKubelet, usages: ['client'] }));
  const adminAccess = accessOf('admin', ['system:masters']);
  const proxy = kubeconfig('kube-proxy', accessOf('system:kube-proxy'));
  const issuer = 'https://kubernetes.default.svc.cluster.local';
  return {
    admin: createKubeClient(adminAccess, { fieldManager: 'rollcall-test', userAgent: 'rollcall-test' }),
    adminKubeconfig: kubeconfig('admin', adminAccess),
    nodeFiles(of) {
      const commonName = `system:node:${of.node}`;
      const names = { dnsNames: [of.node], ipAddresses: [of.address], commonName };
      return {
        caPath: keys.caPath,
        certificate: write(of.node, issueCertificate({ ...from, ...names, usages: ['server'] })),
        kubelet: kubeconfig(of.node, accessOf(commonName, ['system:nodes'])),
        proxy,
        dns: `${services}.10`,
      };
    },
    servers: {
      etcd: [
        findBinary('etcd'),
        ...etcdFlags({ dataDir: join(place.folder, 'etcd'), clientPort: 2379, peerPort: 2380, keys }),
      ],
      'kube-apiserver': [
        findBinary('kube-apiserver'),
        '--etcd-servers=https://127.0.0.1:2379',
        `--etcd-cafile=${keys.etcdCaPath}`,
        `--etcd-certfile=${keys.etcdClient.certPath}`,
        `--etcd-keyfile=${keys.etcdClient.keyPath}`,
        '--secure-port=6443',
        `--advertise-address=${address}`,
        `--tls-cert-file=${serving.certPath}`,
        `--tls-private-key-file=${serving.keyPath}`,
        `--client-ca-file=${keys.caPath}`,
        ...frontProxyFlags(keys),
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        `--service-account-issuer=${issuer}`,
        `--service-account-key-file=${keys.serviceAccountPublicKeyPath}`,
        `--service-account-signing-key-file=${keys.serviceAccountKeyPath}`,
        `--service-cluster-ip-range=${services}.0/24`,
        `--kubelet-client-certificate=${kubeletClient.certPath}`,
        `--kubelet-client-key=${kubeletClient.keyPath}`,
        '--kubelet-preferred-address-types=InternalIP',
      ],
      'kube-controller-manager': [
        findBinary('kube-controller-manager'),
        `--kubeconfig=${kubeconfig('controller-manager', accessOf('system:kube-controller-manager'))}`,
        '--use-service-account-credentials',
        '--leader-elect=false',
        `--root-ca-file=${keys.caPath}`,
        `--service-account-private-key-file=${keys.serviceAccountKeyPath}`,
        `--cluster-cidr=${pods}.0/24`,
        `--service-cluster-ip-range=${services}.0/24`,
      ],
      'kube-scheduler': [
        programs['kube-scheduler'],
        `--kubeconfig=${kubeconfig('scheduler', accessOf('system:kube-scheduler'))}`,
        '--leader-elect=false',
      ],
    },
  };
}
