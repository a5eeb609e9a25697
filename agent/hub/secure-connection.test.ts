import { expect, test } from 'vitest';
import { parseHubAddress } from './hub-address.ts';
import type { HubNetwork } from './hub-network.ts';
import { waysTo } from './secure-connection.ts';

const ips = ['192.0.2.1', '192.0.2.2', '2001:db8::1'];
const lookUp = async () => ips.map((address) => ({ address }));
const proxy = { host: 'proxy', port: 3128, isTls: false };

test.each<{ name: string; address: string; network: HubNetwork; want: (string | undefined)[] }>([
  { name: 'a name', address: 'Hub.example:4222', network: {}, want: ips },
  { name: 'an IP address', address: '192.0.2.9:4222', network: {}, want: [undefined] },
  {
    name: 'a name with an alias',
    address: 'hub.example:4222',
    network: { hostAliases: { 'hub.example': '192.0.2.7' } },
    want: ['192.0.2.7'],
  },
  {
    name: 'a name that the proxy looks up',
    address: 'hub.example:4222',
    network: { proxy },
    want: [undefined],
  },
  {
    name: 'a name that is reached without the proxy',
    address: 'hub.example:4222',
    network: { proxy, noProxy: ['hub.example'] },
    want: ips,
  },
])('each IP address of $name is a way of its own', async ({ address, network, want }) => {
  const ways = await waysTo(parseHubAddress(address), network, lookUp);
  const led = ways.map(({ hostAliases }) => hostAliases?.['hub.example']);
  expect(led.toSorted()).toEqual(want.toSorted());
});
