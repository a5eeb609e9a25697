import { once } from 'node:events';
import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseMemberAccess } from '@rollcall/agent';
import { applyManifests, createKubeClient, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { runCli } from '../../cli/tests/run-cli.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { startLocalAgent } from '../../cli/up/local-agent.ts';
import { helm } from '../charts/helm.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** People, with real kubectl, on the member that the hub of `rollcall up` is of itself: the whole way, through API server, gateway, NATS and agent. */
let hub: TestEmbeddedHub;
let folder: string;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({ settings: { 'member-gateway': { healthPort: '0' } } });
  folder = mkdtempSync(join(tmpdir(), 'rollcall-reach-'));
  await startLocalAgent(hub.up, { clusterName: 'local' });
  await hub.untilReady('local');
  await until('the hub shows who gets in', async () => (await hub.cluster('local'))?.status?.memberAccess);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await hub[Symbol.asyncDispose]();
});

const through = (name: string) => `/apis/proxy.rollcall.dev/v1alpha1/managedclusters/${name}/proxy`;

function kubeconfigOf(user: string, groups: readonly string[], path: string): string {
  const access = hub.up.plane.userAccess(user, groups);
  const file = join(folder, `${randomUUID()}.kubeconfig`);
  writeFileSync(file, kubeconfigYaml({ ...access, server: `${access.server}${path}` }), { mode: 0o600 });
  return file;
}

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}
async function kubectl(kubeconfig: string, ...args: string[]): Promise<Ran> {
  const cache = join(folder, randomUUID());
  const all = ['--kubeconfig', kubeconfig, '--cache-dir', cache, ...args];
  return promisify(execFile)(findBinary('kubectl'), all, { maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
    (error: Ran) => error,
  );
}

const asAdmin = (name = 'local') => kubeconfigOf('rollcall-admin', ['system:masters'], through(name));

/** One request as it is, past every client library. */
function raw(
  path: string,
  headers: Record<string, string> = {},
  who: { user: string; groups: string[] } = { user: 'rollcall-admin', groups: ['system:masters'] },
): Promise<{ status: number; body: string }> {
  const { server, caPem, certPem, keyPem } = hub.up.plane.userAccess(who.user, who.groups);
  const url = new URL(server);
  return new Promise((resolve, reject) => {
    const asked = httpsRequest(
      {
        host: url.hostname,
        port: url.port,
        path,
        headers,
        ca: caPem,
        cert: certPem,
        key: keyPem,
        agent: false,
      },
      (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (text: string) => (body += text));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
        answer.on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

/** How many requests are open, as the gateway counts them. */
async function openStreams(): Promise<number> {
  const gateway = hub.up.services.find(({ name }) => name === 'member-gateway');
  if (gateway?.healthPort === undefined) throw new Error('the gateway has no health port');
  const text = await (await fetch(`http://127.0.0.1:${gateway.healthPort}/metrics`)).text();
  return Number(/^rollcall_gateway_streams (\d+)/m.exec(text)?.[1]);
}

test('who administers the hub may look into its own cluster by way of the gateway, and no more', async () => {
  expect((await kubectl(asAdmin(), 'get', 'namespaces', '-o', 'name')).code).toBe(0);
  const refused = await Promise.all([
    kubectl(asAdmin(), 'get', 'secrets', '--all-namespaces'),
    kubectl(asAdmin(), 'create', 'configmap', 'made'),
    kubectl(asAdmin(), 'create', 'token', 'default'),
  ]);
  for (const { stderr } of refused) expect(stderr).toContain('User "rollcall:rollcall-admin" cannot');
  // What comes next needs rights in the member.
  const binding = ['clusterrolebinding', 'admins', '--clusterrole=cluster-admin', '--group=rollcall:admins'];
  const bound = await kubectl(hub.up.plane.adminKubeconfigPath, 'create', ...binding);
  expect(bound.code, bound.stderr).toBe(0);
});

describe('kubectl works in a member through the hub', () => {
  test('get, create, apply, and as whom [CN-8] [X-13]', async () => {
    const admin = asAdmin();
    expect((await kubectl(admin, 'get', 'namespaces', '-o', 'name')).stdout).toContain(
      'namespace/kube-system',
    );
    expect((await kubectl(admin, 'create', 'configmap', 'made', '--from-literal=a=b')).code).toBe(0);
    const manifest = join(folder, 'applied.yaml');
    writeFileSync(manifest, 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: applied }\ndata: { a: b }\n');
    expect((await kubectl(admin, 'apply', '--server-side', '-f', manifest)).stdout).toContain('applied');
    const { stdout } = await kubectl(
      admin,
      'auth',
      'whoami',
      '-o',
      'jsonpath={.status.userInfo.username} {.status.userInfo.groups}',
    );
    expect(stdout).toBe('rollcall:rollcall-admin ["rollcall:admins","system:authenticated"]');
    expect((await kubectl(admin, 'delete', 'configmap', 'made', 'applied')).code).toBe(0);
  });

  test('contexts of all members are merged into the kubeconfig that is there, whose selected one stays', async () => {
    const own = join(folder, 'own.kubeconfig');
    copyFileSync(hub.up.plane.adminKubeconfigPath, own);
    const current = (await kubectl(own, 'config', 'current-context')).stdout;
    await applyManifests(hub.up.admin, [
      {
        apiVersion: 'rollcall.dev/v1alpha1',
        kind: 'ManagedCluster',
        metadata: { name: 'planned' },
        spec: { clientId: 'planned' },
      },
    ]);
    const flags = ['--all', '--merge', '--kubeconfig', hub.up.plane.adminKubeconfigPath];
    const environment = { KUBECONFIG: own };
    for (const _ of ['once', 'again']) {
      const ran = await runCli(['kubeconfig', ...flags], { environment });
      expect(ran.code, ran.stderr).toBe(0);
    }
    expect((await kubectl(own, 'config', 'current-context')).stdout).toBe(current);
    const contexts = (await kubectl(own, 'config', 'get-contexts', '-o', 'name')).stdout.trim().split('\n');
    expect(contexts.toSorted()).toEqual([current.trim(), 'rollcall-local', 'rollcall-planned'].toSorted());
    const listed = await kubectl(own, '--context', 'rollcall-local', 'get', 'namespaces', '-o', 'name');
    expect(listed.stdout, listed.stderr).toContain('namespace/kube-system');
    await hub.up.admin.delete(resources.managedClusters, 'planned');
  });

  test('Helm installs, upgrades and takes away', async () => {
    const chart = join(folder, 'shop');
    mkdirSync(join(chart, 'templates'), { recursive: true });
    writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: shop\nversion: 1.0.0\n');
    const template =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: shop }\ndata: { open: {{ .Values.open }} }\n';
    writeFileSync(join(chart, 'templates', 'shop.yaml'), template);
    const admin = asAdmin();
    for (const open of ['early', 'late']) {
      const ran = await helm(
        ['upgrade', '--install', 'shop', chart, '--wait', '--set', `open=${open}`],
        admin,
      );
      expect(ran.code, ran.stderr).toBe(0);
      const { stdout } = await kubectl(admin, 'get', 'configmap', 'shop', '-o', 'jsonpath={.data.open}');
      expect(stdout).toBe(open);
    }
    expect((await helm(['history', 'shop', '--output', 'json'], admin)).stdout).toContain('"revision":2');
    expect((await helm(['uninstall', 'shop', '--wait'], admin)).code).toBe(0);
    expect((await kubectl(admin, 'get', 'configmap', 'shop')).stderr).toContain('not found');
  });

  test('a watch brings what changes, and its end on this side is its end in the member', async () => {
    await kubectl(asAdmin(), 'create', 'configmap', 'before');
    const watching = spawn(findBinary('kubectl'), [
      '--kubeconfig',
      asAdmin(),
      'get',
      'configmaps',
      '-w',
      '-o',
      'name',
    ]);
    let seen = '';
    watching.stdout.setEncoding('utf8').on('data', (text: string) => (seen += text));
    await until('the watch has begun', async () => seen.includes('configmap/before'));
    await kubectl(asAdmin(), 'create', 'configmap', 'watched');
    await until('the watch has seen it', async () => seen.includes('configmap/watched'));
    expect(await openStreams()).toBe(1);
    watching.kill('SIGKILL');
    await until('nothing is open any more', async () => (await openStreams()) === 0);
  });

  test('a body of a megabyte goes up and comes back whole', async () => {
    const text = randomBytes(480_000).toString('hex');
    const file = join(folder, 'large.txt');
    writeFileSync(file, text);
    expect((await kubectl(asAdmin(), 'create', 'configmap', 'large', `--from-file=text=${file}`)).code).toBe(
      0,
    );
    const { stdout } = await kubectl(asAdmin(), 'get', 'configmap', 'large', '-o', 'jsonpath={.data.text}');
    const digest = (of: string) => createHash('sha256').update(of).digest('hex');
    expect(digest(stdout)).toBe(digest(text));
  });

  test('a list of many megabytes comes whole', async () => {
    const { admin } = hub.up;
    const text = 'x'.repeat(500_000);
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        admin.create(
          resources.configMaps,
          {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: `many-${index}`, namespace: 'default' },
            data: { text },
          } as never,
          { namespace: 'default' },
        ),
      ),
    );
    const path = '/api/v1/namespaces/default/configmaps';
    const [directly, byHub] = await Promise.all([raw(path), raw(`${through('local')}${path}`)]);
    expect(byHub.status).toBe(200);
    const names = (body: string) =>
      (JSON.parse(body) as { items: { metadata: { name: string } }[] }).items.map(
        ({ metadata }) => metadata.name,
      );
    expect(names(byHub.body)).toEqual(names(directly.body));
    expect(byHub.body.length).toBeGreaterThan(8_000_000);
  });

  test('a request becomes raw bytes: a watch over WebSocket [CN-8]', async () => {
    const { server, caPem, certPem, keyPem } = hub.up.plane.userAccess('rollcall-admin', ['system:masters']);
    const url = `${server.replace('https', 'wss')}${through('local')}/api/v1/namespaces/default/configmaps?watch=true`;
    const socket = new WebSocket(url, { ca: caPem, cert: certPem, key: keyPem, origin: server } as never);
    const first = await new Promise<string>((resolve, reject) => {
      socket.on('message', (data: Buffer) => resolve(data.toString('utf8')));
      socket.on('error', reject);
    });
    expect(JSON.parse(first)).toMatchObject({ type: 'ADDED' });
    socket.terminate();
    await until('nothing is open any more', async () => (await openStreams()) === 0);
  });
});

describe('who does not get in is told why', () => {
  test('a cluster that there is not', async () => {
    expect((await kubectl(asAdmin('nowhere'), 'get', 'namespaces')).stderr).toContain(
      'managedclusters.rollcall.dev "nowhere" not found',
    );
  });

  test('somebody whom the owner has not named, whatever the hub allows [CN-8]', async () => {
    const stranger = kubeconfigOf('stranger', ['system:masters'], through('local'));
    const { stderr, code } = await kubectl(stranger, 'get', 'namespaces');
    expect(code).toBe(1);
    expect(stderr).toContain('the owner of the member does not let "stranger" in');
  });

  test('somebody whom the hub gives no right to that cluster, and somebody whom it gives one [X-13]', async () => {
    const rights = (name: string) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'into-local' },
      rules: [
        {
          apiGroups: ['proxy.rollcall.dev'],
          resources: ['managedclusters/proxy'],
          resourceNames: [name],
          verbs: ['get'],
        },
      ],
    });
    const refused = await raw(`${through('local')}/version`, {}, { user: 'bob', groups: [] });
    expect([refused.status, refused.body.includes('cannot get resource')]).toEqual([403, true]);
    await applyManifests(hub.up.admin, [
      rights('local') as never,
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'into-local' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'into-local' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' }],
      } as never,
    ]);
    await until('the hub lets bob ask', async () => {
      const answer = await raw(`${through('local')}/version`, {}, { user: 'bob', groups: [] });
      return answer.body.includes('does not let \\"bob\\" in');
    });
  });

  test('a cluster whose owner has not turned it on', async () => {
    const token = await hub.createToken({ clusterName: 'closed' });
    const { agent } = await hub.startAgent({ name: 'closed', token: token.text });
    await hub.untilReady('closed');
    expect((await kubectl(asAdmin('closed'), 'get', 'namespaces')).stderr).toContain(
      'has not turned on access',
    );
    await agent.stop();
    await hub.untilReady('closed', 'False');
    await until('it is away', async () =>
      (await kubectl(asAdmin('closed'), 'get', 'namespaces')).stderr.includes('is away'),
    );
  });

  test('everybody while the hub has shut the cluster: what is open ends, too', async () => {
    const path = '/api/v1/namespaces/default/configmaps?watch=true';
    // Nobody reads what it prints: with a pipe it would wait there, and not see that the watch has ended.
    const watching = spawn(findBinary('kubectl'), ['--kubeconfig', asAdmin(), 'get', '--raw', path], {
      stdio: 'ignore',
    });
    const ended = once(watching, 'close');
    await until('the watch is open', async () => (await openStreams()) > 0);
    await hub.up.admin.mergePatch(resources.managedClusters, 'local', { spec: { memberAccess: 'Denied' } });
    await ended;
    expect((await kubectl(asAdmin(), 'get', 'namespaces')).stderr).toContain('is shut on this hub');
    await hub.up.admin.mergePatch(resources.managedClusters, 'local', { spec: { memberAccess: 'Allowed' } });
    await until('it is open again', async () => (await kubectl(asAdmin(), 'get', 'namespaces')).code === 0);
  });

  test.each([
    '/api/v1/../../metrics',
    // An encoded slash is decoded by the API server before anybody here sees it; refused-path.test.ts has it.
    '/api/v1/%2e%2e/namespaces',
    '//api/v1/namespaces',
    '/api/v1//namespaces',
    '/api%5cv1',
  ])('the path %s', async (path) => {
    const { status } = await raw(`${through('local')}${path}`);
    expect([301, 400, 404]).toContain(status);
  });

  test('headers of 64 KB, and two lengths of one body; who asks next is answered', async () => {
    const long = await raw(`${through('local')}/version`, { 'X-Long': 'x'.repeat(65_536) });
    expect([long.status, long.body.includes('are too long together')]).toEqual([400, true]);
    const { server, caPem, certPem, keyPem } = hub.up.plane.userAccess('rollcall-admin', ['system:masters']);
    const { hostname: host, port } = new URL(server);
    const socket = connect({ host, port: Number(port), ca: caPem, cert: certPem ?? '', key: keyPem ?? '' });
    const lengths = 'Content-Length: 4\r\nContent-Length: 60\r\n';
    socket.write(`POST ${through('local')}/version HTTP/1.1\r\nHost: a\r\n${lengths}\r\nabcd`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
    expect((await raw(`${through('local')}/version`)).status).toBe(200);
  });

  test('headers that say who somebody is', async () => {
    const headers = { 'X-Remote-User': 'system:admin', 'X-Remote-Group': 'system:masters' };
    const { status, body } = await raw(`${through('local')}/version`, headers, { user: 'bob', groups: [] });
    expect([status, body.includes('bob')]).toEqual([403, true]);
  });
});

test('the gateway answers nobody but the API server: not who shows no certificate, and not who shows another one', async () => {
  const port = Number(hub.up.serviceOptions.memberGateway?.['servingPort']);
  const { certPem, keyPem } = hub.up.plane.userAccess('rollcall-admin', ['system:masters']);
  for (const shown of [{}, { cert: certPem, key: keyPem }]) {
    const status = await new Promise((resolve, reject) => {
      const headers = { 'X-Remote-User': 'rollcall-admin', 'X-Remote-Group': 'system:masters' };
      const path = `${through('local')}/version`;
      httpsRequest(
        { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false, ...shown },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(401);
  }
});

test('as one ServiceAccount: nobody is impersonated, and the account needs no people named', async () => {
  const member = createKubeClient(hub.up.plane.access, { fieldManager: 'test', userAgent: 'test' });
  await applyManifests(member, [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'visitor', namespace: 'default' },
    } as never,
  ]);
  member.close();
  const token = await hub.createToken({ clusterName: 'by-account' });
  await hub.startAgent({
    name: 'by-account',
    token: token.text,
    more: { memberAccess: parseMemberAccess(['service-account:default/visitor']) },
  });
  await hub.untilReady('by-account');
  await until('the hub shows it', async () => (await hub.cluster('by-account'))?.status?.memberAccess);
  const { stdout } = await kubectl(
    asAdmin('by-account'),
    'auth',
    'whoami',
    '-o',
    'jsonpath={.status.userInfo.username}',
  );
  expect(stdout).toBe('system:serviceaccount:default:visitor');
});
