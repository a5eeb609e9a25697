import { writeFileSync } from 'node:fs';
import { masquerade } from './clean-up.ts';
import { bridge, type Place } from './places.ts';
import { run, tryRun } from './run.ts';

/** The bridge that all nodes are on. */
export async function makeBridge(): Promise<void> {
  await run('ip', 'link', 'add', bridge.name, 'type', 'bridge');
  await run('ip', 'addr', 'add', `${bridge.address}/24`, 'dev', bridge.name);
  await run('ip', 'link', 'set', bridge.name, 'up');
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
  // A container engine sets the policy of FORWARD to DROP.
  for (const direction of ['-i', '-o'])
    await run('iptables', '-I', 'FORWARD', direction, bridge.name, '-j', 'ACCEPT');
  await run('iptables', ...masquerade('-A'));
}

/** A network namespace on the bridge, which is the machine that a node believes to be. */
export async function makeNamespace({ name, link, address, pods, services }: Place): Promise<void> {
  const inside = (...command: string[]) => run('nsenter', `--net=/run/netns/${name}`, '--', ...command);
  await run('ip', 'netns', 'add', name);
  await run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  await run('ip', 'link', 'set', link, 'master', bridge.name, 'up');
  await inside('ip', 'link', 'set', 'lo', 'up');
  await inside('ip', 'addr', 'add', `${address}/24`, 'dev', 'eth0');
  await inside('ip', 'link', 'set', 'eth0', 'up');
  await inside('ip', 'route', 'add', 'default', 'via', bridge.address);
  await inside('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  // After a crash the address has another MAC.
  await tryRun('ip', 'neigh', 'flush', 'dev', bridge.name);
  for (const network of [pods, services])
    await run('ip', 'route', 'replace', `${network}.0/24`, 'via', address);
}
