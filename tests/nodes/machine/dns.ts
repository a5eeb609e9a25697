import type { KubeObject } from '@rollcall/shared/kubernetes';
import { baseImages } from './base-images.ts';
import type { Place } from './places.ts';

const namespace = 'kube-system';
const name = 'coredns';
const corefile = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
    fallthrough in-addr.arpa ip6.arpa
  }
  forward . /etc/resolv.conf
  cache 30
  loop
  reload
}
`;

/** CoreDNS as it is installed everywhere: where there are several nodes, on two of them. */
export function dnsManifests({ services }: Place, replicas: number): KubeObject[] {
  const rbac = 'rbac.authorization.k8s.io';
  const labels = { 'k8s-app': 'kube-dns' };
  const rule = (group: string, ...kinds: string[]) => ({
    apiGroups: [group],
    resources: kinds,
    verbs: ['list', 'watch'],
  });
  const container = {
    name,
    image: baseImages.dns,
    args: ['-conf', '/etc/coredns/Corefile'],
    readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
  };
  const apart = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } };
  const spec = {
    serviceAccountName: name,
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } },
    dnsPolicy: 'Default',
    containers: [container],
    volumes: [{ name: 'config', configMap: { name } }],
  };
  const ports = ['UDP', 'TCP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 53, protocol }));
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [
        rule('', 'endpoints', 'services', 'pods', 'namespaces'),
        rule('discovery.k8s.io', 'endpointslices'),
      ],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { Corefile: corefile } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace, labels },
      spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kube-dns', namespace, labels },
      spec: { clusterIP: `${services}.10`, selector: labels, ports },
    },
  ] as KubeObject[];
}
