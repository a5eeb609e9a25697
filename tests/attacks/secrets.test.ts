import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { type KubeClient, type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { aJoin, askToJoin } from '../harness/join.ts';

/**
 * The whole way of a cluster, with secrets that the test knows, and then everything is read that anybody but their holder can
 * read. A hit names the place and never prints the secret.
 */
let hub: TestEmbeddedHub;
const secrets = new Map<string, string>();
const said: string[] = [];
const agentDirectory = () => join(hub.up.stateDir, 'agent-of-secrets');

const serviceNames = [
  'agent-host',
  'member-gateway',
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
] as const;

function filesUnder(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
}

/** Seeds of NKeys and XKeys, private keys, and the signed part of credentials, wherever they stand in a file. */
function secretsIn(path: string): string[] {
  const text = readFileSync(path, 'utf8');
  const seeds = text.match(/\bS[AUOXNC][A-Z2-7]{56}\b/g) ?? [];
  const jwts = (text.match(/eyJ[\w-]+\.[\w-]+\.[\w-]{60,}/g) ?? []).map((jwt) => jwt.split('.')[2] ?? '');
  const keys = (text.match(/PRIVATE KEY-----(?:\\n|\s)+([A-Za-z0-9+/=]{40,})/g) ?? []).map((key) =>
    key.slice(-40),
  );
  return [...seeds, ...jwts, ...keys];
}

function know(name: string, values: readonly string[]): void {
  for (const [at, value] of values.entries()) if (value.length >= 20) secrets.set(value, `${name} (${at})`);
}

const found = (text: string) =>
  [...secrets].flatMap(([secret, name]) => (text.includes(secret) ? [name] : []));

beforeAll(async () => {
  const withMetrics = { healthPort: '0', logLevel: 'debug' };
  hub = await startTestEmbeddedHub({
    auditPolicy: 'metadata',
    settings: Object.fromEntries(serviceNames.map((name) => [name, withMetrics])),
  });
  const { stateDir } = hub.up;
  // A person's token, one of the hub, and an agent that comes in by the first, is let in, and sends heartbeats.
  const own = await hub.createToken({ uses: 3 });
  know('token', [own.text, own.text.split('.')[2] ?? '', own.key.seed]);
  await hub.up.admin.create(
    resources.clusterRegistrationTokens,
    {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ClusterRegistrationToken',
      metadata: { name: 'published', namespace: 'rollcall-join' },
      spec: { publish: true, uses: 5 },
    },
    { namespace: 'rollcall-join' },
  );
  const published = await until('the token is published', () =>
    hub.up.admin.get<KubeObject & { data?: Record<string, string> }>(resources.secrets, {
      name: 'published',
      namespace: 'rollcall-join',
    }),
  );
  const values = Object.values(published.data ?? {}).map((text) => Buffer.from(text, 'base64').toString());
  know(
    'published token',
    values
      .join('\n')
      .match(/rc1\.\w{16}\.\w{26}/g)
      ?.flatMap((text) => [text, text.slice(-26)]) ?? [],
  );

  const memberKubeconfig = join(stateDir, 'member.kubeconfig');
  writeFileSync(memberKubeconfig, kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
  const flags = [
    '--ca-cert-hash',
    hub.up.hub.caCertHash,
    '--cluster-name',
    'secretive',
    '--client-id',
    'secretive',
  ];
  mkdirSync(agentDirectory());
  const agent = startCli(
    // As a flag: the process list shows it no more once it was read.
    [
      'register',
      hub.up.addresses[0] ?? '',
      '--token',
      own.text,
      ...flags,
      '--run',
      '--member-kubeconfig',
      memberKubeconfig,
    ],
    { directory: agentDirectory() },
  );
  await agent.line(/is Ready/);
  await hub.untilReady('secretive');
  for (const path of filesUnder(agentDirectory())) know('agent', secretsIn(path));
  // One that is refused, and one that is wrong: what is said of them is read too.
  await using raw = await connectWithToken({ address: hub.up.natsAddress, hub: hub.up.hub }, own);
  await askToJoin(raw, own, aJoin(own, { clusterName: 'kube-system' }));
  know('raw agent', [raw.key.seed]);
  const place = ['--run', '--member-kubeconfig', memberKubeconfig];
  const wrong = await runCli([
    'register',
    hub.up.addresses[0] ?? '',
    '--token',
    `${own.text}X`,
    ...flags,
    ...place,
  ]);
  said.push(wrong.stdout, wrong.stderr);

  for (const folder of ['identities', 'offline'])
    for (const path of filesUnder(join(stateDir, folder))) know(folder, secretsIn(path));
  know('ops', secretsIn(join(stateDir, 'ops.creds')));
  know('inspector', secretsIn(join(stateDir, 'inspector.creds')));
  know('CA', secretsIn(join(stateDir, 'nats', 'ca-key.pem')));

  // What runs is looked at while it runs.
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      said.push(readFileSync(`/proc/${id}/cmdline`, 'utf8'));
    } catch {
      // It has ended meanwhile.
    }
  }
  agent.child.kill('SIGINT');
  const { stdout, stderr } = await agent.result;
  said.push(stdout, stderr);
  for (const command of [
    ['events'],
    ['audit', '-o', 'json'],
    ['get', 'clusters', '-o', 'yaml'],
    ['describe', 'cluster', 'secretive'],
  ]) {
    const environment = { ROLLCALL_HOME: stateDir, KUBECONFIG: hub.up.plane.adminKubeconfigPath };
    const result = await runCli(command, { environment });
    said.push(result.stdout, result.stderr);
  }
});
afterAll(() => hub[Symbol.asyncDispose]());

/** Every object of an API server as text, by its path. */
async function objectsOf(client: KubeClient): Promise<Map<string, string>> {
  const read = async (path: string) => (await client.raw(path)).body;
  const { groups } = JSON.parse(await read('/apis')) as {
    groups: { preferredVersion: { groupVersion: string } }[];
  };
  const paths = [
    '/api/v1',
    ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
  ];
  const objects = new Map<string, string>();
  for (const path of paths) {
    const { resources: kinds } = JSON.parse(await read(path)) as {
      resources: { name: string; verbs: string[] }[];
    };
    for (const { name, verbs } of kinds) {
      if (!verbs.includes('list')) continue;
      const { items = [] } = JSON.parse(await read(`${path}/${name}`)) as { items?: KubeObject[] };
      for (const item of items) {
        const { data, ...rest } = item as KubeObject & { data?: Record<string, string> };
        const decoded = Object.values(data ?? {}).map((text) => Buffer.from(text, 'base64').toString());
        objects.set(`${name}/${item.metadata.name}`, JSON.stringify([rest, data, decoded]));
      }
    }
  }
  return objects;
}

test('the test knows secrets of every kind, or what follows could not fail', () => {
  const kinds = new Set([...secrets.values()].map((name) => name.replace(/ \(\d+\)$/, '')));
  expect([...kinds].toSorted()).toEqual([
    'CA',
    'agent',
    'identities',
    'inspector',
    'offline',
    'ops',
    'published token',
    'raw agent',
    'token',
  ]);
  expect(secrets.size).toBeGreaterThan(30);
  const [first = ''] = secrets.keys();
  expect(found(`x${first}y`)).toContain('token (0)');
});

describe('no secret is found in', () => {
  test('the logs of the services, of NATS, etcd and the API server, its audit log included', () => {
    const logs = [join(hub.up.stateDir, 'logs'), join(hub.up.stateDir, 'kubernetes', 'logs')].flatMap(
      filesUnder,
    );
    expect(logs.length).toBeGreaterThan(6);
    expect(
      logs.flatMap((path) => found(readFileSync(path, 'latin1')).map((name) => `${name} in ${path}`)),
    ).toEqual([]);
  });

  test('the streams, as they lie on the disk', () => {
    const blocks = filesUnder(join(hub.up.stateDir, 'nats', 'jetstream'));
    const texts = blocks.map((path) => readFileSync(path, 'latin1'));
    expect(texts.some((text) => text.includes('rollcall.events.cluster'))).toBe(true);
    expect(texts.flatMap(found)).toEqual([]);
  });

  test('the events, as everybody who may watch reads them [X-5]', async () => {
    const events = await Array.fromAsync(hub.log.scan({}));
    expect(events.length).toBeGreaterThan(5);
    expect(events.flatMap((event) => found(JSON.stringify({ ...event, definition: undefined })))).toEqual([]);
  });

  test('any object in Kubernetes, but in the two Secrets that are made to hold one [CN-3, X-5]', async () => {
    const objects = await objectsOf(hub.up.admin);
    expect(objects.size).toBeGreaterThan(50);
    const holders = [...objects].flatMap(([path, text]) => (found(text).length > 0 ? [path] : []));
    expect(
      holders.filter(
        (path) => !['secrets/published', 'secrets/rollcall-inspector', 'secrets/rollcall-ops'].includes(path),
      ),
    ).toEqual([]);
    expect(holders).toContain('secrets/published');
  });

  test('the metrics of a service', async () => {
    const pages = await Promise.all(
      hub.up.services.map(
        ({ healthPort: port }) =>
          new Promise<string>((resolve, reject) => {
            get({ host: '127.0.0.1', port, path: '/metrics' }, (response) => {
              let text = '';
              response.setEncoding('utf8').on('data', (part: string) => (text += part));
              response.on('end', () => resolve(text));
            }).on('error', reject);
          }),
      ),
    );
    expect(pages).toHaveLength(serviceNames.length);
    for (const page of pages) expect(page).toContain('# EOF');
    expect(pages.flatMap(found)).toEqual([]);
  });

  test('the command line of any process, what the agent says, errors, and what commands print', () => {
    expect(said.some((text) => text.includes('nats-server'))).toBe(true);
    expect(said.some((text) => text.includes('TOKEN_INVALID'))).toBe(true);
    // The wrong token was given on a command line; that one was the test's own.
    expect(said.flatMap(found)).toEqual([]);
  });

  test('the configuration of the NATS server', () => {
    const config = readFileSync(join(hub.up.stateDir, 'nats', 'nats.conf'), 'utf8');
    expect(config).toContain('operator');
    expect(found(config)).toEqual([]);
  });
});

test('what holds a secret on the machine of the hub is readable by its owner alone', () => {
  const open = filesUnder(hub.up.stateDir).filter((path) => {
    const isOpen = (statSync(path).mode & 0o077) !== 0;
    return isOpen && found(readFileSync(path, 'latin1')).length > 0;
  });
  expect(open).toEqual([]);
});
