import type { KubeObject } from '@rollcall/shared/kubernetes';

export const nodeName = (index: number) => `node-${String(index).padStart(6, '0')}`;

/** As large as one of a cloud provider: most of it is the list of images. Memory differs a little from machine to machine. */
export function madeUpNode(index: number): KubeObject {
  const name = nodeName(index);
  const memory = `${16_374_400 + (index % 64) * 4}Ki`;
  const images = Array.from({ length: 50 }, (_, image) => ({
    names: [
      `registry.example.org/team-${image}/service-${image}@sha256:${String(image).padStart(64, '0')}`,
      `registry.example.org/team-${image}/service-${image}:v1.${image}.0`,
    ],
    sizeBytes: 100_000_000 + image,
  }));
  const conditions = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
    type,
    status: type === 'Ready' ? 'True' : 'False',
    reason: 'KubeletIsFine',
    message: 'the kubelet says that all is well',
    lastHeartbeatTime: '2026-01-01T00:00:00Z',
  }));
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'node.kubernetes.io/instance-type': `m${index % 4}.large`,
    'topology.kubernetes.io/region': 'eu-1',
    'topology.kubernetes.io/zone': `eu-1${'abc'[index % 3]}`,
    'example.org/pool': `pool-${index % 8}`,
    'example.org/machine': `machine-${index}`,
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: {
      podCIDRs: [`10.${index >> 8}.${index & 255}.0/24`],
      providerID: `example:///eu-1/${name}`,
    },
    status: {
      capacity: { cpu: '4', memory, pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '3920m', memory, pods: '110', 'ephemeral-storage': '90Gi' },
      conditions,
      images,
    },
  } as KubeObject;
}
