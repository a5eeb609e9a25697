import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { clusterRecord } from '@rollcall/shared/events';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { createCa, issueCertificate } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A hub and a member, each with an API server of its own; the hub reaches the member. */
let hub: TestEmbeddedHub;
let member: TestControlPlane;
let hubKubeconfig: string;
let memberKubeconfig: string;
beforeAll(async () => {
  [hub, member] = await Promise.all([
    startTestEmbeddedHub(),
    startTestControlPlane({ withManifests: false, ownPlane: true }),
  ]);
  hubKubeconfig = join(hub.up.stateDir, 'hub-admin.kubeconfig');
  memberKubeconfig = join(hub.up.stateDir, 'member-admin.kubeconfig');
  writeFileSync(hubKubeconfig, kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
  writeFileSync(memberKubeconfig, kubeconfigYaml(member.plane.access), { mode: 0o600 });
});
afterAll(() => Promise.all([hub[Symbol.asyncDispose](), member[Symbol.asyncDispose]()]));

type Secret = KubeObject & { data?: Record<string, string> };
const { kubeconfigs: namespace, agents } = namespaces;

const cli = (...args: string[]) => runCli([...args, '--kubeconfig', hubKubeconfig]);
const secretsOnHub = async () => {
  const lists = [namespace, agents].map((one) =>
    hub.up.admin.list<Secret>(resources.secrets, { namespace: one }),
  );
  return (await Promise.all(lists)).flat().map(({ metadata }) => metadata.name);
};

async function untilHosted(name: string, reason: string): Promise<ManagedCluster> {
  return until(`${name} is hosted: ${reason}`, async () => {
    const cluster = await hub.cluster(name);
    return conditionOf(cluster, 'Hosted')?.reason === reason ? cluster : undefined;
  });
}

/** A member as somebody writes it who has no command line of ours. */
async function declare(
  name: string,
  { kubeconfig, spec = {} }: { kubeconfig: string | undefined; spec?: object },
): Promise<void> {
  const token = await hub.createToken({ clusterName: name });
  const data = { token: token.text, ...(kubeconfig === undefined ? {} : { value: kubeconfig }) };
  await hub.up.admin.create(
    resources.secrets,
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `${name}-kubeconfig`, namespace },
      stringData: data,
    } as KubeObject,
    { namespace },
  );
  await hub.up.admin.create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name },
    spec: { clientId: name, mode: 'Push', kubeconfigSecret: `${name}-kubeconfig`, ...spec },
  } as KubeObject);
}

describe('rollcall join --mode Push', () => {
  // As long as a name may be: what is made for it has names of its own.
  const name = 'edge-push-'.padEnd(63, 'x');

  test('a dry run says what would be made and makes nothing', async () => {
    const { code, stderr, stdout } = await cli(
      'join',
      name,
      '--member-kubeconfig',
      memberKubeconfig,
      '--dry-run',
    );
    expect({ code, stdout }).toEqual({
      code: 0,
      // By another kubeconfig than that of its own directory the hub cannot be asked for more.
      stdout:
        'nothing that can be seen from here is in the way (dry run; nothing was changed); only the hub knows which names this hub reserves, whether a cluster that is not shown has the member or the name\n',
    });
    expect(stderr).toContain('in the member: Namespace rollcall-agent, ServiceAccount rollcall-agent');
    expect(await hub.cluster(name)).toBeUndefined();
    expect(await member.admin.get(resources.namespaces, { name: 'rollcall-agent' })).toBeUndefined();
    expect(await secretsOnHub()).toEqual([]);
  });

  test("a dry run is refused where the namespace is somebody else's", async () => {
    const shop = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    await hub.up.admin.create(resources.namespaces, shop);
    const tried = await cli('join', 'shop', '--member-kubeconfig', memberKubeconfig, '--dry-run');
    expect(tried.stderr).toContain('code: NAMESPACE_TAKEN');
    expect(tried).toMatchObject({ code: 3, stdout: '' });
  });

  test.each([
    {
      what: 'a context that is not in the kubeconfig',
      flags: ['--member-context', 'nowhere'],
      says: 'KUBE_CONTEXT_UNKNOWN',
    },
    {
      what: 'a label with a reserved prefix',
      flags: ['--labels', 'rollcall.dev/cluster-id=x'],
      says: 'labels under rollcall.dev/ are set by the hub',
    },
  ])('$what is refused before anything is made', async ({ flags, says }) => {
    const { code, stderr } = await cli('join', name, '--member-kubeconfig', memberKubeconfig, ...flags);
    expect(code).not.toBe(0);
    expect(stderr).toContain(says);
    expect(await member.admin.get(resources.namespaces, { name: 'rollcall-agent' })).toBeUndefined();
    expect(await secretsOnHub()).toEqual([]);
  });

  test('the hub probes the member with an account of its own there [KA-1]', async () => {
    const { code, stderr, stdout } = await cli('join', name, '--member-kubeconfig', memberKubeconfig);
    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: `cluster "${name}" is Ready\n` });
    const cluster = await hub.untilReady(name);
    const system = await member.admin.get(resources.namespaces, { name: 'kube-system' });
    expect(cluster.spec).toMatchObject({ mode: 'Push', clusterId: system?.metadata.uid });
    expect(conditionOf(cluster, 'Hosted')).toMatchObject({ status: 'True', reason: 'Probed' });
    expect(cluster.metadata.labels?.['rollcall.dev/registered-by']).toBe('hub');
    const kept = await hub.up.admin.get<Secret>(resources.secrets, { name: `${name}-kubeconfig`, namespace });
    const kubeconfig = Buffer.from(kept?.data?.['value'] ?? '', 'base64').toString('utf8');
    expect(kubeconfig).toContain('token: ');
    // The person's own credentials stay with the person.
    expect(kubeconfig).not.toContain('client-certificate-data');
    expect(kubeconfig).not.toContain('client-key-data');
  });

  test.each([['--dry-run'], []])(
    'under another name it is refused at once, by the name it has %s',
    async (...flags) => {
      const joined = await cli('join', 'another', '--member-kubeconfig', memberKubeconfig, ...flags);
      expect(joined.code).not.toBe(0);
      expect(joined.stderr).toMatch(/ID_TAKEN.*as cluster "|as cluster ".*ID_TAKEN/s);
      expect(joined.stderr).toContain(`as cluster "${name}"`);
      expect(await hub.cluster('another')).toBeUndefined();
    },
  );

  test.each([['--dry-run'], []])(
    'under the same name it is said to be registered, as this very cluster %s',
    async (...flags) => {
      const joined = await cli('join', name, '--member-kubeconfig', memberKubeconfig, ...flags);
      expect(joined.stderr).toContain(`error: the member is registered already, as this cluster: "${name}"`);
      expect(joined.stderr).toContain('code: ID_TAKEN');
      expect(joined).toMatchObject({ code: 3, stdout: '' });
      await hub.untilReady(name);
    },
  );

  test('it sends heartbeats only while the member answers', async () => {
    const heartbeat = { intervalSeconds: 1, graceSeconds: 3 };
    await hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { heartbeat } });
    await member.plane.kill('kube-apiserver');
    const away = await hub.untilReady(name, 'False');
    expect(conditionOf(away, 'Ready')?.reason).toBe('Unreachable');
    await member.plane.restart('kube-apiserver');
    await hub.untilReady(name);
  });

  test('unregistering removes what join made in the member and on the hub, also in one that is away just then [KA-2]', async () => {
    await member.plane.kill('kube-apiserver');
    const { code, stderr } = await cli('unregister', name);
    expect(code, stderr).toBe(0);
    expect(await hub.cluster(name)).toBeUndefined();
    await member.plane.restart('kube-apiserver');
    await until('the account in the member is gone', async () => {
      const role = await member.admin.get(resources.clusterRoles, { name: 'rollcall-agent' });
      const binding = await member.admin.get(resources.clusterRoleBindings, { name: 'rollcall-agent' });
      const left = await member.admin.get(resources.namespaces, { name: 'rollcall-agent' });
      // Kubernetes takes the role away after its owner, by a controller that is not here.
      const isRoleOwned = role === undefined || role.metadata.ownerReferences?.length === 1;
      return isRoleOwned && binding === undefined && left?.metadata.deletionTimestamp !== undefined;
    });
    await until('the hub keeps nothing of it', async () => (await secretsOnHub()).length === 0);
  });
});

describe('what the condition says of', () => {
  const loopback = (port: number) => `apiVersion: v1
kind: Config
current-context: a
contexts: [{ name: a, context: { cluster: a, user: a } }]
clusters: [{ name: a, cluster: { server: 'https://127.0.0.1:${port}' } }]
users: [{ name: a, user: { token: secret-of-the-member } }]
`;

  /** What is wrong is said once, and shown everywhere. */
  async function expectSameWords(name: string, { message = '' }: { message?: string } = {}): Promise<void> {
    const { lastOf } = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
    expect(lastOf['agent-host']?.message).toBe(message);
    const described = await cli('describe', 'cluster', name);
    expect(described.stdout, described.stderr).toContain(message);
  }

  test('a server that nobody is at', async () => {
    await declare('nobody-there', { kubeconfig: loopback(1) });
    const cluster = await untilHosted('nobody-there', 'MemberUnreachable');
    const hosted = conditionOf(cluster, 'Hosted');
    expect(hosted?.message).toBe('the API server of the member refuses the connection');
    await expectSameWords('nobody-there', hosted);
  });

  test('a server that answers without end', async () => {
    await using endless = await startFalseMember((_request, response) => {
      const goOn = () => {
        while (response.write('x'.repeat(65_536)));
      };
      response.on('drain', goOn);
      goOn();
    });
    await declare('endless', { kubeconfig: endless.kubeconfig });
    const cluster = await untilHosted('endless', 'ResponseTooLarge');
    await expectSameWords('endless', conditionOf(cluster, 'Hosted'));
  });

  test.each([
    ['without a kubeconfig', 'no-value', undefined],
    [
      'whose context is not in it',
      'no-context',
      loopback(1).replace('current-context: a', 'current-context: b'),
    ],
    [
      'with a path to a file',
      'with-path',
      loopback(1).replace('token: secret-of-the-member', 'tokenFile: /etc/passwd'),
    ],
    [
      'with an exec plugin',
      'with-exec',
      loopback(1).replace('token: secret-of-the-member', 'exec: {apiVersion: a, command: /bin/sh}'),
    ],
    ['that names a metadata address', 'metadata', loopback(1).replace('127.0.0.1', '169.254.169.254')],
  ])('a Secret %s', async (_, name, kubeconfig) => {
    await declare(name, { kubeconfig });
    const cluster = await untilHosted(name, 'KubeconfigRefused');
    expect(conditionOf(cluster, 'Hosted')).toMatchObject({ status: 'False' });
    expect(JSON.stringify(cluster)).not.toContain('secret-of-the-member');
    await expectSameWords(name, conditionOf(cluster, 'Hosted'));
  });

  test('a kubeconfig that leads to the hub itself', async () => {
    const server = new URL(hub.up.plane.access.server);
    await declare('hub-itself', { kubeconfig: loopback(Number(server.port)) });
    const cluster = await untilHosted('hub-itself', 'KubeconfigRefused');
    expect(conditionOf(cluster, 'Hosted')?.message).toContain('an address of the hub itself');
  });

  test('another cluster than the one that was meant, until the Secret has the right one [FL-5]', async () => {
    const name = 'other-one';
    const kubeconfig = kubeconfigYaml(member.plane.access);
    await declare(name, { kubeconfig, spec: { clientId: undefined, clusterId: 'another-uid' } });
    await untilHosted(name, 'MemberOther');
    expect(conditionOf(await hub.cluster(name), 'Ready')?.status).toBe('Unknown');
  });
});

/** What answers where an API server should be. */
async function startFalseMember(answer: RequestListener): Promise<AsyncDisposable & { kubeconfig: string }> {
  const nowMs = Date.now();
  const ca = createCa({ commonName: 'liar', validForDays: 2, nowMs });
  const { certificatePem: cert, privateKeyPem: key } = issueCertificate({
    ca,
    commonName: 'liar',
    dnsNames: [],
    ipAddresses: ['127.0.0.1'],
    usages: ['server'],
    validForMs: 3_600_000,
    nowMs,
  });
  const server = createHttpsServer({ cert, key }, answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const names = { clusterName: 'liar', contextName: 'liar', userName: 'liar', namespace: 'default' };
  return {
    kubeconfig: kubeconfigYaml({
      server: `https://127.0.0.1:${port}`,
      caPem: ca.certificatePem,
      token: 'liar',
      ...names,
    }),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * Each of its answers is a lie from then on: too deep to be written again, too long to be passed on, or of another kind than it
 * should be.
 * @param options.honestVersions - how often it says its version before
 * @param options.about - what it lies about
 */
async function startLiar(options: {
  honestVersions: number;
  about: RegExp;
}): Promise<AsyncDisposable & { kubeconfig: string; hasLied: Promise<void> }> {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const long = 'x'.repeat(200_000);
  const node = `{"metadata":{"name":${deep},"labels":${deep}},"spec":{"podCIDRs":${deep},"providerID":7},"status":{"conditions":[null],"capacity":{"cpu":${deep}}}}`;
  const honest: readonly (readonly [RegExp, string])[] = [
    [/^\/version/, '{"gitVersion":"v1.36.3"}'],
    [/^\/api\/v1\/namespaces\/kube-system/, '{"metadata":{"uid":"liar"}}'],
    [/^\/api\/v1\/nodes/, '{"items":[],"metadata":{"resourceVersion":"1"}}'],
    [/z$/, 'ok'],
  ];
  const lies: readonly (readonly [RegExp, string])[] = [
    [/^\/version/, `{"gitVersion":"v1.36.3${long}","platform":${deep}}`],
    [/^\/api\/v1\/namespaces\/kube-system/, '{"metadata":{"uid":"liar"}}'],
    [
      /^\/api\/v1\/nodes/,
      `{"items":[${node},null,7],"metadata":{"resourceVersion":${deep},"continue":"more"}}`,
    ],
    [/token$/, `{"status":{"token":${deep}}}`],
    [/jwks$/, `{"keys":[{"kid":"${long}","kty":"RSA","n":"${long}"}]}`],
  ];
  const hasLied = Promise.withResolvers<void>();
  let versions = 0;
  const liar = await startFalseMember(({ url = '' }, response) => {
    if (url.startsWith('/version')) versions++;
    const isLying = versions > options.honestVersions && options.about.test(url);
    response.end((isLying ? lies : honest).find(([path]) => path.test(url))?.[1] ?? (isLying ? deep : '{}'));
    if (isLying) response.once('finish', hasLied.resolve);
  });
  return { ...liar, hasLied: hasLied.promise };
}

test.each([
  { name: 'liar', what: 'about everything from the start', honestVersions: 0, about: /./ },
  // The smoke test and the first request are over then.
  { name: 'turncoat', what: 'about everything once it is let in', honestVersions: 2, about: /./ },
  { name: 'boaster', what: 'about its version once it is let in', honestVersions: 2, about: /^\/version/ },
])('a member that lies $what takes nothing from another', async ({ name, honestVersions, about }) => {
  await using liar = await startLiar({ honestVersions, about });
  await declare(name, { kubeconfig: liar.kubeconfig });
  await untilHosted(name, 'Probed');
  if (honestVersions > 0) await hub.untilReady(name);
  await liar.hasLied;
  await declare(`beside-a-${name}`, { kubeconfig: kubeconfigYaml(member.plane.access) });
  await hub.untilReady(`beside-a-${name}`);
  // What fits is a claim like any other.
  expect(JSON.stringify(await hub.cluster(name))).not.toContain('x'.repeat(257));
});

describe('many members', () => {
  const connections = new Set<Socket>();
  let hanging: Server | undefined;
  afterAll(() => {
    hanging?.close();
    for (const connection of connections) connection.destroy();
  });

  test('one that hangs keeps none of fifty others waiting', async () => {
    hanging = createServer((connection) => connections.add(connection)).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const kubeconfig = kubeconfigYaml(member.plane.access);
    const { port } = hanging.address() as AddressInfo;
    await declare('hanging', { kubeconfig: kubeconfig.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`) });
    const names = Array.from({ length: 50 }, (_, index) => `good-${index}`);
    for (const name of names) await declare(name, { kubeconfig });
    await Promise.all(names.map((name) => hub.untilReady(name)));
    expect(conditionOf(await hub.cluster('hanging'), 'Ready')?.status).toBe('Unknown');
  });
});
