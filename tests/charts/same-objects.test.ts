import { join } from 'node:path';
import { chartValues } from '@rollcall/shared/hub';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { objectsIn } from '../../cli/install/deploy-templates.ts';
import { runCli, withoutProgress } from '../../cli/tests/run-cli.ts';
import { helm, helmTemplate, helmWithChart } from './helm.ts';

const pin = `sha256:${'0'.repeat(64)}`;
const token = `rc1.${'0'.repeat(16)}.${'0'.repeat(26)}`;
const least = { hub: 'hub.example.org:4222', caCertHash: pin, token };
const namespace = 'rollcall-agent';

const agentValues: readonly { name: string; values: object }[] = [
  { name: 'the least there is', values: least },
  { name: 'a Secret that is there already', values: { existingSecret: true } },
  {
    name: 'everything',
    values: {
      ...least,
      hub: 'a.example.org:4222,[::1]:443',
      caBundle: '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n',
      clusterName: 'edge-1',
      clientID: 'a: "b" # <c> & {{ .Values.token }}',
      labels: { 'example.org/site': 'north', env: 'prod', empty: '' },
      clusterType: 'Edge',
      memberAccess: { users: { bob: true, 'alice@example.org': true }, groups: { sre: 'oncall' } },
      image: 'registry.example.org/rollcall@sha256:00',
      imagePullPolicy: 'Always',
      imagePullSecrets: [{ name: 'pull' }],
      env: [
        { name: 'NO_PROXY', value: '10.0.0.0/8' },
        { name: 'HTTPS_PROXY', valueFrom: { secretKeyRef: { name: 'proxy', key: 'url' } } },
      ],
      hostAliases: [{ ip: '192.0.2.1', hostnames: ['a.example.org'] }],
      resources: { limits: { memory: '1Gi' }, requests: null },
      priorityClassName: 'system-cluster-critical',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      networkPolicy: { egress: [{ ports: [{ port: 4222 }, { port: 53, protocol: 'UDP' }] }] },
    },
  },
  { name: 'no network policy', values: { ...least, networkPolicy: { enabled: false } } },
];

const publicHub = {
  id: 'HUB',
  addresses: 'hub.example.org:4222',
  caBundle: 'PEM\n',
  caCertHash: pin,
  keys: '00',
  memberGatewayCa: 'UEVN',
};
const hubValues: readonly { name: string; values: object }[] = [
  { name: 'the least there is', values: { hub: publicHub } },
  {
    name: 'what people see alone',
    values: { hub: publicHub, attribution: true, parts: { workloads: false } },
  },
  { name: 'what runs alone', values: { hub: publicHub, attribution: true, parts: { kubernetes: false } } },
  ...['kubernetes', 'workloads'].map((left) => ({
    name: `console and forward, without ${left}`,
    values: {
      hub: publicHub,
      console: { host: 'c.example', tlsSecret: 't', ingress: { enabled: true } },
      forward: { secret: 's' },
      parts: { [left]: false },
    },
  })),
  { name: 'no member gateway', values: { hub: publicHub, services: { 'member-gateway': { replicas: 0 } } } },
  { name: 'three servers', values: { hub: { ...publicHub, servers: 3, websocket: true } } },
  {
    name: 'everything',
    values: {
      hub: { ...publicHub, servers: 3, websocket: true },
      attribution: true,
      image: 'registry.example.org/rollcall:1',
      imagePullSecrets: [{ name: 'pull' }],
      nats: {
        image: 'nats:2.15.3',
        storage: '100Gi',
        storageClassName: 'fast',
        serviceType: 'LoadBalancer',
        nodePort: 30_422,
        websocketNodePort: 30_443,
        loadBalancerIP: '192.0.2.7',
        externalIPs: ['192.0.2.8'],
        ingress: {
          host: 'hub.example.org',
          className: 'nginx',
          annotations: { 'example.org/passthrough': 'true' },
        },
        serviceAnnotations: { a: 'b' },
        resources: { limits: { memory: '4Gi' } },
      },
      services: {
        registrar: { replicas: 2, env: [{ name: 'ROLLCALL_LOG_LEVEL', value: 'debug' }] },
        heartbeat: { replicas: 2, resources: { limits: null } },
      },
      hostAliases: [{ ip: '192.0.2.1', hostnames: ['a.example.org'] }],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ operator: 'Exists' }],
      priorityClassName: 'system-cluster-critical',
      affinity: { podAntiAffinity: {} },
      memberGateway: { externalName: 'gateway.example.org', port: 8443, servingPort: 9443 },
      tokenNamespaces: ['team-a', 'rollcall-join', 'team-b'],
      console: {
        host: 'console.example.org:8443',
        tlsSecret: 'console-tls',
        behindProxy: true,
        serviceType: 'LoadBalancer',
        serviceAnnotations: { a: 'b' },
        ingress: { enabled: true, className: 'nginx', annotations: { 'example.org/passthrough': 'true' } },
        env: [{ name: 'ROLLCALL_SESSIONS', value: '50' }],
      },
      forward: { secret: 'sink', signed: true, args: ['--only', 'unreachable,back'] },
      networkPolicy: { enabled: false },
    },
  },
];
const all = [
  ...agentValues.map((one) => ({ ...one, chart: 'agent', place: namespace })),
  ...hubValues.map((one) => ({ ...one, chart: 'hub', place: 'rollcall-system' })),
];

const keyOf = ({ kind, metadata }: KubeObject) =>
  `${kind} ${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
const inOrder = (objects: readonly KubeObject[]) =>
  objects.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));

async function install(chart: string, values: object, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-values-'));
  const file = join(folder, 'values.yaml');
  writeFileSync(file, stringify(values));
  const ended = runCli(['install', chart, '--values', file, '-o', 'yaml', ...args]);
  return ended.finally(() => rmSync(folder, { recursive: true, force: true }));
}

test.each(all)('$chart: chart and command make the same objects of $name [RO-1]', async (given) => {
  const { chart, values, place } = given;
  const { stdout, stderr, code } = await install(chart, values, '--dry-run');
  expect(withoutProgress(stderr)).toBe('');
  expect(code).toBe(0);
  const objects = objectsIn(stdout);
  const isPlace = ({ kind, metadata }: KubeObject) => kind === 'Namespace' && metadata.name === place;
  expect(objects.filter(isPlace)).toHaveLength(1);
  const charted = await helmTemplate(chart, values, place);
  expect(inOrder(charted)).toEqual(inOrder(objects.filter((object) => !isPlace(object))));
});

test('the values of a published token are a values file of the chart [FL-1] [FL-2]', async () => {
  const hub = {
    hubId: 'HUB',
    addresses: ['hub.example.org:4222', 'other:443'],
    caPem: 'PEM\n',
    caCertHash: pin,
    epoch: 1,
  };
  const values = chartValues(hub, { text: token, clusterName: 'edge-1', clientId: 'c-1' });
  const objects = await helmTemplate('agent', values, namespace);
  const secret = objects.find(({ kind }) => kind === 'Secret') as KubeObject & { stringData: object };
  expect(secret.stringData).toMatchObject({
    hub: 'hub.example.org:4222,other:443',
    caBundle: 'PEM\n',
    caCertHash: pin,
    token,
    proxy: '',
    noProxy: '',
    proxyCaBundle: '',
  });
  expect(JSON.stringify(objects)).toContain('"value":"edge-1"');
  expect(JSON.stringify(objects)).toContain('"value":"c-1"');
});

test.each([
  { name: 'a wrong key', values: { ...least, clusterNames: 'x' }, want: /clusterNames/ },
  { name: 'a wrong type', values: { ...least, labels: ['a=b'] }, want: /labels/ },
  { name: 'a wrong hash', values: { ...least, caCertHash: 'md5:0' }, want: /caCertHash/ },
  { name: 'no hub', values: { ...least, hub: '' }, want: /hub: the addresses of the hub are missing/ },
  {
    name: 'no way to know the hub',
    values: { ...least, caCertHash: '' },
    want: /caCertHash: give it or caBundle, so that the hub can be told from others/,
  },
])('chart and command refuse: $name', async ({ values, want }) => {
  const ours = await install('agent', values);
  expect(ours.code).toBe(1);
  expect(ours.stderr).toMatch(want);
  expect(ours.stderr).not.toContain(token);
  const theirs = await helmWithChart(['template', 'test'], 'agent', { values, namespace });
  expect(theirs.code).not.toBe(0);
  expect(theirs.stderr).toMatch(want);
});

const refusedAgents: readonly { values: object; want: string }[] = [
  ...['hub', 'caBundle', 'caCertHash', 'token', 'proxy', 'noProxy', 'proxyCaBundle'].map((key) => ({
    values: { existingSecret: true, [key]: key === 'caCertHash' ? pin : key === 'token' ? token : 'h:1' },
    want: `${key}: existingSecret is true`,
  })),
  {
    values: { ...least, memberAccess: { serviceAccount: 'people', users: { bob: true } } },
    want: 'nobody does by memberAccess.users',
  },
  {
    values: { ...least, memberAccess: { groups: { sre: 'oncall' } } },
    want: 'memberAccess.groups: only those in memberAccess.users',
  },
];
const withGateway = { replicas: 1, healthPort: 8443 };
const ofHub = { ...publicHub, servers: 3, websocket: true };
const refusedHubs: readonly { values: object; want: string }[] = [
  { values: { parts: { kubernetes: false, workloads: false } }, want: 'nothing would be installed' },
  { values: { nats: { serviceType: 'ClusterIP', nodePort: 30_422 } }, want: 'nats.nodePort: a Service' },
  {
    values: { hub: ofHub, nats: { serviceType: 'ClusterIP', websocketNodePort: 30_443 } },
    want: 'nats.websocketNodePort: a Service',
  },
  { values: { nats: { websocketNodePort: 30_443 } }, want: 'nats.websocketNodePort: no address begins' },
  {
    values: { hub: ofHub, nats: { nodePort: 30_422, websocketNodePort: 30_422 } },
    want: 'nats.websocketNodePort: it is the same as nats.nodePort',
  },
  {
    values: { nats: { serviceType: 'NodePort', nodePort: 30_422, loadBalancerIP: '192.0.2.7' } },
    want: 'nats.loadBalancerIP: only a Service of type LoadBalancer',
  },
  { values: { hub: ofHub, nats: { routePort: 4222 } }, want: 'nats.routePort: it is the same as nats.port' },
  { values: { hub: ofHub, nats: { port: 8443 } }, want: 'nats.websocketPort: it is the same as nats.port' },
  {
    values: { hub: ofHub, nats: { routePort: 8443 } },
    want: 'nats.websocketPort: it is the same as nats.routePort',
  },
  { values: { services: { 'member-gateway': withGateway } }, want: 'memberGateway.servingPort: it is' },
  {
    values: { services: { 'member-gateway': { replicas: 0 } }, memberGateway: { externalName: 'g.example' } },
    want: 'there is no member gateway to find',
  },
  {
    values: { console: { host: 'c.example' } },
    want: 'console.tlsSecret: the console speaks nothing but TLS',
  },
  { values: { forward: { signed: true } }, want: 'forward.secret is empty, so nothing is sent' },
  { values: { console: { ingress: { enabled: true } } }, want: 'there is no console to lead to' },
  {
    values: { console: { host: 'c.example', tlsSecret: 't', healthPort: 8443 } },
    want: 'console.servingPort: it is the same as console.healthPort',
  },
];
const refused = [
  ...refusedAgents.map((one) => ({ ...one, chart: 'agent', place: namespace })),
  ...refusedHubs.map(({ values, want }) => ({
    values: { hub: publicHub, ...values },
    want,
    chart: 'hub',
    place: 'rollcall-system',
  })),
];

test.each(refused)('$chart: chart and command refuse what contradicts itself: $want', async (given) => {
  const { chart, values, place, want } = given;
  const ours = await install(chart, values);
  expect([ours.code, ours.stderr]).toEqual([1, expect.stringContaining(want)]);
  const theirs = await helmWithChart(['template', 'test'], chart, { values, namespace: place });
  expect([theirs.code, theirs.stderr]).toEqual([1, expect.stringContaining(want)]);
});

test('the chart says where it belongs', async () => {
  const { code, stderr } = await helmWithChart(['template', 'test'], 'agent', {
    values: least,
    namespace: 'default',
  });
  expect(code).not.toBe(0);
  expect(stderr).toContain('install it with --namespace rollcall-agent --create-namespace');
});

test('the chart of the hub says what comes first', async () => {
  const ours = await install('hub', {});
  const theirs = await helmWithChart(['template', 'test'], 'hub', {
    values: {},
    namespace: 'rollcall-system',
  });
  for (const { code, stderr } of [ours, theirs]) {
    expect(code).not.toBe(0);
    expect(stderr).toContain('`rollcall install hub --only-keys` makes them');
  }
});

test.each([
  { name: 'agent', place: namespace, set: `hub=h:1,caCertHash=${pin}` },
  { name: 'hub', place: 'rollcall-system', set: 'hub.id=HUB' },
])('helm lint has nothing to say against the chart $name', async ({ name, place, set }) => {
  const chart = join(import.meta.dirname, '..', '..', 'deploy', 'charts', name);
  const { code, stdout } = await helm(['lint', '--strict', chart, '--namespace', place, '--set', set]);
  expect(stdout).toContain('0 chart(s) failed');
  expect(code).toBe(0);
});
