import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { baseImages } from './base-images.ts';
import type { NodeKeys } from './control-plane.ts';
import { cgroupKinds, type Place } from './places.ts';

export const socketOf = ({ runFolder }: Place): string => join(runFolder, 'containerd.sock');

/** Writes what containerd, kubelet and kube-proxy read. @returns the paths */
export function writeNodeFiles(
  place: Place,
  keys: NodeKeys,
): Record<'containerd' | 'kubelet' | 'proxy', string> {
  const { folder, runFolder, pods, cgroup, node } = place;
  const at = (name: string) => join(folder, name);
  for (const name of ['cni', 'kubelet', 'containerd', 'pod-logs']) mkdirSync(at(name), { recursive: true });
  mkdirSync(runFolder, { recursive: true });
  const written = (name: string, text: string) => (writeFileSync(at(name), text), at(name));

  const containerd = written(
    'containerd.toml',
    `version = 2
root = "${at('containerd')}"
state = "${join(runFolder, 'containerd')}"
[grpc]
  address = "${socketOf(place)}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${baseImages.pause}"
  # Beside everything else that goes with the node.
  netns_mounts_under_state_dir = true
  # Where root has no CAP_SYS_RESOURCE, runc dies of a score of -998.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${at('cni')}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`,
  );
  const ipam = {
    type: 'host-local',
    dataDir: join(runFolder, 'ipam'),
    ranges: [[{ subnet: `${pods}.0/24` }]],
  };
  const bridge = { type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: true, hairpinMode: true };
  const plugins = [
    { ...bridge, ipam: { ...ipam, routes: [{ dst: '0.0.0.0/0' }] } },
    { type: 'portmap', capabilities: { portMappings: true } },
  ];
  written('cni/10-bridge.conflist', JSON.stringify({ cniVersion: '1.0.0', name: place.name, plugins }));
  // A kubelet's cgroup has to be there, with processors and memory to give.
  for (const kind of cgroupKinds) mkdirSync(join('/sys/fs/cgroup', kind, cgroup), { recursive: true });
  for (const kind of ['cpuset.cpus', 'cpuset.mems']) {
    const all = readFileSync(join('/sys/fs/cgroup/cpuset', kind));
    writeFileSync(join('/sys/fs/cgroup/cpuset', cgroup, kind), all);
  }
  const kubelet = written(
    'kubelet.yaml',
    stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: keys.caPath },
      },
      authorization: { mode: 'Webhook' },
      tlsCertFile: keys.certificate.certPath,
      tlsPrivateKeyFile: keys.certificate.keyPath,
      containerRuntimeEndpoint: `unix://${socketOf(place)}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${cgroup}`,
      failCgroupV1: false,
      failSwapOn: false,
      clusterDNS: [keys.dns],
      clusterDomain: 'cluster.local',
      resolvConf: written('resolv.conf', 'nameserver 10.255.255.53\n'),
      podLogsDir: at('pod-logs'),
      nodeStatusUpdateFrequency: '5s',
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
    }),
  );
  const proxy = written(
    'proxy.yaml',
    stringify({
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'iptables',
      hostnameOverride: node,
      clusterCIDR: `${pods}.0/24`,
      clientConnection: { kubeconfig: keys.proxy },
      conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    }),
  );
  return { containerd, kubelet, proxy };
}
