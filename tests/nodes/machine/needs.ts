import { existsSync } from 'node:fs';
import { hasGo } from '../../harness/go-programs.ts';
import { run, step } from './run.ts';

/** By the names that Debian has for them, and a program of each. */
const packages: Readonly<Record<string, string>> = {
  'docker.io': '/usr/sbin/dockerd',
  containerd: '/usr/bin/containerd',
  'containernetworking-plugins': '/usr/lib/cni/bridge',
  'busybox-static': '/bin/busybox',
  conntrack: '/usr/sbin/conntrack',
  debootstrap: '/usr/sbin/debootstrap',
  iproute2: '/sbin/ip',
  iptables: '/usr/sbin/iptables',
};

/** @returns why there can be no node on this machine; undefined: there can */
export function whyNoNodes(): string | undefined {
  if (process.platform !== 'linux') return 'nodes need Linux';
  if (process.getuid?.() !== 0) return 'nodes need root: they make network namespaces and containers';
  if (!existsSync('/sys/fs/cgroup/pids'))
    return 'nodes were tried with cgroup v1 only, and this machine has v2';
  if (!existsSync('/usr/bin/apt-get'))
    return 'what a node needs is installed from Debian, and there is no apt-get';
  if (!hasGo()) return 'kubelet and CoreDNS are built by Go, and there is none on PATH';
  return undefined;
}

/** Installs the packages that are not there. */
export async function providePackages(): Promise<void> {
  const missing = Object.keys(packages).filter((name) => !existsSync(packages[name] ?? ''));
  if (missing.length === 0) return;
  await step(`installing ${missing.join(', ')}`, async () => {
    await run('apt-get', '-qq', 'update');
    const quiet = ['-qq', '-o', 'Dpkg::Use-Pty=0', '-y', '--no-install-recommends'];
    await run('env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', ...quiet, ...missing);
  });
}
