import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { createPolicyEvaluator } from '@rollcall/approver/policy';
import { type BusCredentials, connectBus, openEventLog } from '@rollcall/shared/bus';
import { clusterRecord, draft, ready } from '@rollcall/shared/events';
import { chartValues, registerCommand } from '@rollcall/shared/hub';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { createNkey, createRegistrationToken } from '@rollcall/shared/trust';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { renderManifest } from '../../cli/register/manifest.ts';
import { type CliResult, runCli } from '../../cli/tests/run-cli.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { connectWithToken } from '../harness/raw-agent.ts';
import { connectRaw, type RawMessage } from '../harness/raw-bus.ts';
import { aJoin, askToJoin } from '../harness/join.ts';

/** Clears a screen, names a window, turns text around, ends a line and begins a log line of its own. */
const evil = 'owned\u001b[2J\u001b]0;x\u0007\u009b31m\u202e\u2066\u200b\u2028\r\n{"level":50,"forged":true}';
/** What a terminal acts on, and a reader does not see. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const pasteable = '$(touch${IFS}pwned);`id`';

function expectHarmless({ stdout, stderr }: CliResult): void {
  for (const line of `${stdout}\n${stderr}`.split('\n')) {
    expect(line).not.toMatch(unprintable);
    expect(line).not.toMatch(/^\{"level":50,"forged"/);
  }
}

describe('text of agents, tokens, policies and services', () => {
  let hub: TestEmbeddedHub;
  let environment: Record<string, string>;
  const inside = { clusterId: 'id-inside', clusterName: 'inside' };
  const held = { clusterId: 'id-held', clusterName: 'held' };
  const facts = {
    kubernetesVersion: 'v1.36.3',
    platform: evil,
    apiServerURL: evil,
    provider: evil,
    region: evil,
    agentVersion: evil,
    nodes: { total: 1, ready: 1, schedulable: 1, sample: evil },
    capacity: { [evil.slice(0, 60)]: '1', cpu: evil.slice(0, 30) },
    claims: [{ name: evil, value: evil }],
    podCIDRs: [evil.slice(0, 60)],
  };

  async function declareHostilePolicy(): Promise<void> {
    const when = 'request.clusterName == "held"';
    const rules = [{ name: 'hostile', when, effect: 'Hold', reason: evil }];
    await hub.up.admin.create(resources.approvalPolicies, {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ApprovalPolicy',
      metadata: { name: 'hostile' },
      spec: { rules },
    } as KubeObject);
    await until('the policy is declared', async () => {
      const { head } = await hub.log.read({ kind: 'policy', id: 'hostile' });
      return head;
    });
  }

  function credentialsOf(service: string): BusCredentials {
    const identity = readFileSync(join(hub.up.stateDir, 'identities', `${service}.json`), 'utf8');
    return (JSON.parse(identity) as { bus: BusCredentials }).bus;
  }
  const connectAs = (service: 'heartbeat' | 'projector') =>
    connectBus(hub.up.natsAddress, credentialsOf(service), service);

  /** As it likes: no schema of ours is asked. */
  async function sayAs(service: 'heartbeat' | 'registrar', message: RawMessage): Promise<void> {
    const asked = { address: hub.up.natsAddress, hub: hub.up.hub };
    await using bus = await connectRaw(asked, credentialsOf(service));
    expect(await bus.send([message])).toBe(1);
  }

  /** A cluster whose name and key are words of a shell. */
  async function askByWordsOfShell(): Promise<void> {
    const request = {
      id: 'request-1',
      key: createNkey('user').publicKey,
      keyFingerprint: pasteable,
      tokenId: 'none',
      tokenName: 'a/b',
      claimed: {},
      requestedAtMs: Date.now(),
    };
    const section = { state: 'requested', clusterId: 'id-pasted', clusterName: pasteable, request };
    const body = { epoch: hub.up.hub.epoch, correlation: 'c', reason: 'Requested', message: 'm', section };
    await sayAs('registrar', {
      subject: 'rollcall.events.cluster.id-pasted.requested',
      headers: {
        'ce-type': 'dev.rollcall.cluster.requested.v1',
        'ce-id': 'forged',
        'ce-time': new Date().toISOString(),
        'ce-source': '/rollcall/registrar',
      },
      body: JSON.stringify(body),
    });
  }

  /** Services in wrong hands: they write what they may, with what they like in it. */
  async function deadLetterAsProjector(): Promise<void> {
    const nc = await connectAs('projector');
    const letter = { service: evil, subject: evil, sequence: 1, code: evil, message: evil, deliveries: 1 };
    await jetstream(nc).publish('rollcall.dead.projector.1', JSON.stringify(letter));
    await nc.close();
  }

  async function speakAsHeartbeat(): Promise<void> {
    const nc = await connectAs('heartbeat');
    try {
      const log = await openEventLog(nc, {
        epoch: hub.up.hub.epoch,
        source: `/rollcall/${evil.slice(0, 9)}`,
      });
      const record = clusterRecord(await hub.log.read({ kind: 'cluster', id: inside.clusterId }));
      const atMs = Date.now();
      const section = {
        state: 'ready' as const,
        key: record.identity?.request.key ?? '',
        cause: evil,
        joinedAtMs: atMs,
        sinceMs: atMs,
        lastHeartbeatAtMs: atMs,
      };
      await log.append([draft(ready, record, { reason: 'Alive', message: evil, section })], {
        correlation: evil.slice(0, 60),
      });
    } finally {
      await nc.close();
    }
  }

  beforeAll(async () => {
    hub = await startTestEmbeddedHub();
    const { stateDir } = hub.up;
    writeFileSync(join(stateDir, 'kubeconfig'), readFileSync(hub.up.plane.adminKubeconfigPath), {
      mode: 0o600,
    });
    environment = { ROLLCALL_HOME: stateDir };
    await declareHostilePolicy();
    const token = await hub.createToken({ uses: 5, description: evil });
    const asked = { address: hub.up.natsAddress, hub: hub.up.hub };
    for (const who of [inside, held]) {
      await using agent = await connectWithToken(asked, token);
      await askToJoin(
        agent,
        token,
        aJoin(token, { ...who, facts, labels: { [evil]: 'x', env: evil.slice(0, 60) } }),
      );
    }
    await until('the one is shown', () => hub.cluster(inside.clusterName));
    await until(
      'the other one is held',
      async () => (await hub.request(held.clusterId))?.status?.result === 'Held',
    );
    await speakAsHeartbeat();
    await deadLetterAsProjector();
    await askByWordsOfShell();
    await sayAs('heartbeat', { subject: `rollcall.events.cluster.x${evil.slice(5, 24)}.ready`, body: '{}' });
  });
  afterAll(() => hub[Symbol.asyncDispose]());

  test.each([
    { line: ['get', 'clusters', '-o', 'wide'], shows: /inside/ },
    { line: ['get', 'clusters', '-o', 'yaml'], shows: /owned/ },
    { line: ['get', 'clusters', '-o', 'json'], shows: /owned/ },
    { line: ['get', 'requests', '-o', 'wide'], shows: /held/i },
    { line: ['get', 'requests', '-o', 'yaml'], shows: /owned/ },
    { line: ['get', 'tokens', '-o', 'yaml'], shows: /owned/ },
    { line: ['get', 'policies', '-o', 'yaml'], shows: /owned/ },
    { line: ['describe', 'cluster', 'inside'], shows: /owned/ },
    { line: ['describe', 'cluster', 'inside', '-o', 'json'], shows: /owned/ },
    { line: ['describe', 'cluster', '--id', 'id-held'], shows: /owned/ },
    { line: ['events'], shows: /owned/ },
    { line: ['events', '-o', 'json'], shows: /owned/ },
    { line: ['audit', '--cluster', 'id-held', '-o', 'wide'], shows: /held/ },
    { line: ['audit', '--cluster', 'id-held', '-o', 'json'], shows: /owned/ },
    { line: ['dead', 'list', '-o', 'wide'], shows: /owned/ },
    { line: ['dead', 'list', '-o', 'json'], shows: /owned/ },
    { line: ['policy', 'explain', 'id-held'], shows: /owned/ },
    { line: ['policy', 'explain', 'id-held', '-o', 'yaml'], shows: /owned/ },
    { line: ['top', '--once'], shows: /Clusters/ },
    { line: ['status'], shows: /Clusters/ },
  ])('`rollcall $line`: shown, and moves no cursor', async ({ line, shows }) => {
    const result = await runCli(line, { environment });
    expect(result.stdout).toMatch(shows);
    expectHarmless(result);
  });

  test.each([
    { line: ['describe', 'cluster', evil] },
    { line: ['get', 'clusters', evil] },
    { line: ['approve', evil] },
    { line: ['events', '--cluster', evil] },
    { line: ['get', 'clusters', '--context', evil] },
  ])('what a person pastes into `rollcall $line` is quoted harmlessly in the error', async ({ line }) => {
    const result = await runCli(line, { environment });
    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain('owned');
    expectHarmless(result);
  });

  test.each([
    { line: ['describe', 'cluster', '--id', 'id-pasted'] },
    { line: ['policy', 'explain', 'id-pasted'] },
    { line: ['events', '--type', 'held'] },
    { line: ['doctor'] },
  ])('`rollcall $line` tells nobody to paste what a stolen registrar wrote', async ({ line }) => {
    const result = await runCli(line, { environment });
    expectHarmless(result);
    expect(result.stdout + result.stderr).not.toContain('$(');
  });

  test('kubectl shows what the hub wrote of clusters and requests in lines that a terminal shows as they are', async () => {
    const [cluster, request] = await Promise.all([
      until('the facts are shown', async () => {
        const { status } = (await hub.cluster(inside.clusterName)) ?? {};
        return status?.clusterClaims && status;
      }),
      hub.request(held.clusterId),
    ]);
    const written = { cluster, request: { spec: request?.spec, status: request?.status } };
    expect(JSON.stringify(written)).toContain('owned');
    const texts: string[] = [];
    JSON.stringify(written, (name, value: unknown) => {
      texts.push(name, ...(typeof value === 'string' ? [value] : []));
      return value;
    });
    expect(texts.filter((text) => unprintable.test(text))).toEqual([]);
  });

  test('a line of our logs is one JSON object, whatever was logged', async () => {
    await until('the subject that is none was looked at', async () =>
      readFileSync(join(hub.up.stateDir, 'logs', 'projector.log'), 'utf8').includes('is no event'),
    );
    await runCli(['status'], { environment });
    const folder = join(hub.up.stateDir, 'logs');
    const services = [
      'registrar',
      'approver',
      'heartbeat',
      'projector',
      'rbac-provisioner',
      'account-controller',
    ];
    const files = readdirSync(folder).filter((file) => services.some((name) => file.startsWith(name)));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const lines = readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
      for (const line of lines) {
        expect(line).not.toMatch(unprintable);
        expect(JSON.parse(line)).not.toHaveProperty('forged');
      }
    }
  });

  test('the command in a published Secret is the words that it should be, whatever the token names', async () => {
    const clientId = `it's $(touch ${hub.up.stateDir}/pwned) \`id\` "x" \\`;
    await hub.up.admin.create(
      resources.clusterRegistrationTokens,
      {
        apiVersion: 'rollcall.dev/v1alpha1',
        kind: 'ClusterRegistrationToken',
        metadata: { name: 'published', namespace: 'rollcall-join' },
        spec: { publish: true, clientId },
      } as KubeObject,
      { namespace: 'rollcall-join' },
    );
    const where = { name: 'published', namespace: 'rollcall-join' };
    const { data = {} } = await until('it is published', () =>
      hub.up.admin.get<KubeObject & { data?: Record<string, string> }>(resources.secrets, where),
    );
    const text = (name: string) => Buffer.from(data[name] ?? '', 'base64').toString();
    expect(wordsOf(text('command'))).toContain(clientId);
    expect(parse(text('values'))).toMatchObject({ clientID: clientId });
    expect(readdirSync(hub.up.stateDir)).not.toContain('pwned');
  });
});

/** What a real shell makes of a command, without running it. */
function wordsOf(command: string): string[] {
  const script = `set -- ${command}\nfor word; do printf '%s\\0' "$word"; done`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

const pasted = [
  "it's",
  '$(id)',
  '`id`',
  '"; id; "',
  '\\',
  'a\nid',
  '${IFS}',
  '#x',
  '{{ .Values.x }}',
  '*',
  '~',
  '-n',
  'a && b | c > d',
  "'; touch x; '",
  'a: b\nc: d',
  '---\nkind: Pod',
  '&a *a',
  '!!js/function x',
  '${TOKEN}',
  '\u0001',
] as const;

describe('what is pasted', () => {
  const hub = { hubId: 'h', epoch: 1, addresses: ['hub:4222'], caPem: 'PEM\n', caCertHash: 'sha256:00' };
  const { text: token } = createRegistrationToken('0123456789abcdef');

  test.each(pasted)('%j is one word of the register command', (text) => {
    const words = wordsOf(registerCommand(hub, { token, clientId: text }));
    expect(words.slice(-3)).toEqual(['--client-id', text, '--run']);
    expect(words).toHaveLength(9);
  });

  test.each(pasted)('%j is one value of the chart and of the manifest', (text) => {
    expect(parse(chartValues(hub, { text: token, clientId: text }))).toEqual({
      hub: 'hub:4222',
      caBundle: 'PEM\n',
      caCertHash: 'sha256:00',
      token,
      clusterName: '',
      clientID: text,
      labels: {},
    });
    const render = (clientId: string, labels = '') =>
      parseAllDocuments(
        renderManifest({ hub: ['hub:4222'], trust: { caPem: 'PEM' }, token, image: 'i', clientId, labels }),
      ).map((document): unknown =>
        'errors' in document && document.errors.length > 0 ? 'broken' : document.toJS(),
      );
    const plain = JSON.stringify(render('PLACE-OF-THE-ID'));
    const inner = JSON.stringify(text).slice(1, -1);
    expect(JSON.stringify(render(text))).toBe(plain.replaceAll('PLACE-OF-THE-ID', () => inner));
    expect(() => render('id', `a=${text}`)).toThrow(
      /is not of the form key=value|no value that Kubernetes takes/,
    );
  });
});

describe('files that are given to people', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'rollcall-injection-'))));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const aliases = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map(
      (name, at) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[at]}`).join(',')}]`,
    )
    .join('\n')}\n`;
  const merges = `a: &a {x: 1}\n${'bcdefghi'
    .split('')
    .map(
      (name, at) =>
        `${name}: &${name} {<<: [${Array.from({ length: 9 }, () => `*${'abcdefgh'[at]}`).join(',')}], ${name}1: 1}`,
    )
    .join('\n')}\nz: {<<: *i}\n`;
  const bombs = [
    { name: 'aliases that multiply', text: `${aliases}kind: Config\n` },
    { name: 'merges that multiply', text: `${merges}kind: Config\n` },
    { name: 'the same key twice', text: 'kind: Config\nkind: Other\n' },
    { name: 'a function', text: 'kind: !!js/function "function(){ process.exit(77) }"\n' },
    { name: 'a tag of another language', text: 'kind: !!python/object/apply:os.system ["id"]\n' },
    { name: 'an alias of itself', text: 'kind: &a [*a]\n' },
    { name: 'brackets without end', text: `kind: ${'['.repeat(100_000)}\n` },
    { name: 'dashes without end', text: `${'- '.repeat(100_000)}x\n` },
    { name: '__proto__', text: '__proto__: {polluted: true}\nkind: Config\n' },
    { name: 'a key that is a secret and a mapping', text: '? {token: VERY-SECRET}\n: !!x VERY-SECRET\n' },
    { name: 'an escape', text: '"\\u001b[2Jkind": x\n' },
  ] as const;

  const readers = [
    { by: 'get --kubeconfig', line: (path: string) => ['get', 'clusters', '--kubeconfig', path], bombs },
    { by: 'policy check', line: (path: string) => ['policy', 'check', path], bombs: bombs.slice(0, 4) },
    {
      by: 'serve --config',
      line: (path: string) => ['serve', 'registrar', '--check', '--config', path],
      bombs: bombs.slice(0, 4),
    },
  ];
  test.each(readers.flatMap(({ bombs: given, ...reader }) => given.map((bomb) => ({ ...bomb, ...reader }))))(
    '$name, read by `$by`: refused, with no word of it on the terminal',
    async ({ text, line }) => {
      const path = join(folder, 'file.yaml');
      writeFileSync(path, text);
      const result = await runCli(line(path));
      expect([1, 2]).toContain(result.code);
      expect(result.stderr + result.stdout).not.toMatch(
        /UNEXPECTED|node:\d|at .+\.ts:\d|Warning|VERY-SECRET/,
      );
      expectHarmless(result);
    },
  );
});

describe('values that are expressions', () => {
  const evaluator = createPolicyEvaluator({ deadlineMs: 1000 });
  afterAll(() => evaluator.close());
  const values = [
    '" || true || "',
    '"] || true || ["',
    'prod" || "x" == "x',
    '${true}',
    'token.valid',
    '\\" || true || \\"',
    'true',
    '__proto__',
    'constructor',
    '.*',
  ];

  test.each(values)('%j as a name or a label is compared, and never read', async (value) => {
    const input = JSON.stringify({
      request: { clusterId: 'id', clusterName: value, labels: { env: value } },
      token: { valid: false, labels: {} },
      claimed: { region: value, labels: { [value]: value } },
    });
    const rules = [
      'request.clusterName == "prod"',
      'request.labels.env == "prod"',
      'claimed.region.startsWith("eu-")',
      '"env" in claimed.labels',
      'request.clusterName.matches("^prod$")',
      'token.valid',
    ].map((when, at) => ({ name: `r${at}`, when }));
    const result = await evaluator.evaluate({ policies: [{ name: 'p', version: value, rules }], input });
    expect(result).toMatchObject({ kind: 'evaluated', answer: { matches: [], failures: [] } });
  });
});
