import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { expect, test } from 'vitest';
import { runCli, startCli } from './run-cli.ts';

test.each([['--version'], ['version']])('%s prints the version alone', async (argument) => {
  expect(await runCli([argument])).toEqual({ code: 0, stdout: `${rollcallVersion}\n`, stderr: '' });
});

test.each([
  { args: ['--help'], want: 'rollcall token create --print-register-command' },
  { args: ['register', '--help'], want: '--ca-cert-hash <sha256:hex>' },
  { args: ['token', 'create', '--help'], want: '--print-register-command' },
  { args: ['serve', '--help'], want: 'account-controller' },
])('$args teach and end well', async ({ args, want }) => {
  const { code, stdout } = await runCli(args);
  expect(stdout).toContain(want);
  expect(code).toBe(0);
});

test('hidden names of flags are not in the help', async () => {
  const { stdout } = await runCli(['register', '--help']);
  expect(stdout).not.toMatch(/discovery-token|cluster-kubeconfig|karmada/);
});

const token = `rc1.${'0'.repeat(16)}.${'0'.repeat(26)}`;
const pin = `sha256:${'0'.repeat(64)}`;

test.each([
  { name: 'no command', args: [], want: 'Usage: rollcall' },
  { name: 'an unknown command', args: ['frobnicate'], want: "unknown command 'frobnicate'" },
  {
    name: 'an unknown flag',
    args: ['get', 'clusters', '--frobnicate'],
    want: "unknown option '--frobnicate'",
  },
  { name: 'an empty name', args: ['cordon', ''], want: 'an argument is empty' },
  { name: 'an empty token', args: ['token', 'delete', '', '--yes'], want: 'an argument is empty' },
  { name: 'a missing argument', args: ['ban'], want: "missing required argument 'name'" },
  { name: 'nothing to act on', args: ['approve'], want: 'give names, or what to select by' },
  {
    name: 'an unknown kind',
    args: ['get', 'pods'],
    want: 'there are clusters, requests, tokens, policies, sets',
  },
  { name: 'an unknown service', args: ['serve', 'registry'], want: 'there are registrar, approver' },
  {
    name: 'no way to run the agent',
    args: ['register', 'h:1'],
    want: '--run (here, in the foreground) or --manifest',
  },
  {
    name: 'both ways',
    args: ['register', 'h:1', '--run', '--manifest'],
    want: '--run (here, in the foreground) or --manifest',
  },
  { name: 'no way to know the hub', args: ['register', 'h:1', '--run'], want: '--ca-cert-hash or --ca-file' },
  {
    name: 'a hash that is none',
    args: ['register', 'h:1', '--run', '--ca-cert-hash', 'sha256:xyz'],
    want: '"sha256:xyz"',
  },
  {
    name: 'a CA file that holds no certificate',
    args: ['register', 'h:1', '--run', '--ca-file', import.meta.filename],
    want: 'holds no certificate (PEM)',
  },
  {
    name: 'an address that is none',
    args: ['register', 'h:1:2', '--run', '--ca-cert-hash', pin],
    want: '"h:1:2"',
  },
  {
    name: 'labels that are none',
    args: ['register', 'h:1', '--run', '--ca-cert-hash', pin, '--labels', 'x'],
    want: '"x"',
  },
  { name: 'a duration that is none', args: ['approve', 'x', '--timeout', 'soon'], want: '"soon"' },
  { name: 'half of a bus address', args: ['events', '--server', 'h:1'], want: 'go together' },
  { name: 'a live view without a terminal', args: ['top'], want: 'rollcall top --once' },
  { name: 'a time that is none', args: ['audit', '--since', 'yesterday'], want: '"yesterday"' },
  { name: 'a watch of two', args: ['get', 'sets', 'a', 'b', '--watch'], want: 'one name or none' },
  { name: 'an unknown shell', args: ['completion', 'tcsh'], want: 'bash, zsh, fish' },
  {
    name: 'a context that is not there',
    args: ['events', '--nats-context', 'nope'],
    want: 'there is no NATS context "nope"',
  },
  {
    name: 'a context whose name is a path',
    args: ['context', 'export', '--name', '../x'],
    want: '"../x" is no name for a context',
  },
  { name: 'a ttl below zero', args: ['token', 'create', '--ttl', '-1h'], want: '--ttl "-1h" is no duration' },
  { name: 'a ttl of nothing', args: ['token', 'create', '--ttl', '0s'], want: 'is over at once' },
  {
    name: 'a ttl in words',
    args: ['token', 'create', '--ttl', '1 day'],
    want: 'write for example 30m, 24h or 7d',
  },
  {
    name: 'no uses',
    args: ['token', 'create', '--uses', '0'],
    want: '--uses "0" is neither a number of 1 or more',
  },
  {
    name: 'a token that would be lost',
    args: ['token', 'create', '-o', 'name'],
    want: 'would lose the token',
  },
  {
    name: 'a command that is in the Secret',
    args: ['token', 'create', '--publish', '--print-register-command'],
    want: 'puts the command into the Secret',
  },
  { name: 'figures of a live view', args: ['top', '-o', 'json'], want: 'rollcall top --once' },
  {
    name: 'an address to examine without a CA',
    args: ['doctor', '--hub', 'h:1'],
    want: '--hub goes with --agent-state-dir',
  },
  {
    name: 'an unknown format',
    args: ['get', 'clusters', '-o', 'xml'],
    want: 'Allowed choices are table, wide, json, yaml, name.',
  },
  {
    name: 'an unknown format of events',
    args: ['events', '-o', 'table'],
    want: 'Allowed choices are text, wide, json, yaml, name.',
  },
  { name: 'an unknown type of event', args: ['events', '--type', 'frobnicated'], want: 'cluster.approved' },
])('$name: exit 2, and the text says what is meant', async ({ args, want }) => {
  const { code, stdout, stderr } = await runCli(args);
  expect(stderr).toContain(want);
  expect(stdout).toBe('');
  expect(code).toBe(2);
});

const withoutHub = [
  ['get', 'clusters'],
  ['describe', 'cluster', 'x'],
  ['cordon', 'x'],
  ['token', 'delete', 'x', '--yes'],
  ['audit'],
  ['status'],
  ['dead', 'list'],
  ['top', '--once'],
  ['events'],
  ['context', 'export'],
];
test.each(withoutHub.map((args) => ({ args })))('$args where there is no hub says so', async ({ args }) => {
  const { code, stdout, stderr } = await runCli(args);
  expect(stderr).toContain('there is no hub in ".rollcall", and no kubeconfig says where one is');
  expect(stderr).toContain('hint: Check --kubeconfig and --context, or start a hub here with `rollcall up`.');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
});

test('the doctor goes on without a hub, and says what to do', async () => {
  const { code, stdout } = await runCli(['doctor']);
  expect(stdout).toMatch(/skipped {2}state: there is no "\.rollcall" here/);
  expect(stdout).toMatch(/finding {2}kubeconfig: there is no hub .*\n +→ .*`rollcall up`/);
  expect(code).toBe(1);
});

test('a token is never repeated in an error', async () => {
  const args = ['register', 'h:1', '--manifest', '--ca-cert-hash', pin, '--token', `${token}x`];
  const { code, stderr } = await runCli(args);
  expect(stderr).toContain('not of the form rc1.<16>.<26>');
  expect(stderr).not.toContain(token);
  expect(code).toBe(3);
});

test('a manifest is all there is on stdout, and needs no member and no hub', async () => {
  const args = ['register', 'hub.example.org', '--manifest', '--discovery-token-ca-cert-hash', pin];
  const { code, stdout } = await runCli(args, { environment: { ROLLCALL_TOKEN: token } });
  expect(code).toBe(0);
  expect(stdout).toContain(`hub: "hub.example.org:4222"`);
  expect(stdout).toContain(`token: "${token}"`);
});

test('the settings of a service are in its help, and all mistakes are told together', async () => {
  const help = await runCli(['serve', 'registrar', '--help']);
  expect(help.stdout).toContain('--bus-servers <value>');
  expect(help.stdout).toContain('ROLLCALL_BUS_SERVERS');
  const { code, stderr } = await runCli(['serve', 'registrar', '--check', '--member-life', 'soon']);
  expect(stderr).toContain('busServers');
  expect(stderr).toContain('"soon" is no duration');
  expect(code).toBe(1);
});

test('a configuration is checked without being started: flags over variables over the file', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-serve-'));
  try {
    writeFileSync(
      join(directory, 'registrar.yaml'),
      'busServers: h:1\nbusCaFile: ca.pem\nmemberLife: soon\n',
    );
    const args = ['serve', 'registrar', '--config', 'registrar.yaml', '--check', '--identity-file', 'i.json'];
    const wrong = await runCli(args, { directory });
    expect(wrong.stderr).toContain('"soon" is no duration');
    const right = await runCli(args, { directory, environment: { ROLLCALL_MEMBER_LIFE: '1h' } });
    expect(right).toEqual({ code: 0, stdout: 'the configuration of registrar is valid\n', stderr: '' });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test.each([
  { service: 'registrar', flag: '--member-life', refused: '168h', taken: '72h' },
  { service: 'registrar', flag: '--waiting-life', refused: '73h', taken: '72h' },
  { service: 'account-controller', flag: '--longest-credential-life', refused: '72h', taken: '73h' },
])(
  'no credential outlives its revocation: $service does not start with $flag $refused, and does with $taken',
  async ({ service, flag, refused, taken }) => {
    const common = ['--bus-servers', 'h:1', '--bus-ca-file', 'ca.pem', '--identity-file', 'i.json'];
    const check = (life: string) => runCli(['serve', service, '--check', ...common, flag, life]);
    expect(await check(refused)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is (longer|shorter) than (72h|73h|3d|3d1h)\b[^]*CONFIG_INVALID/),
    });
    expect(await check(taken)).toMatchObject({ code: 0, stderr: '' });
  },
);

test('a reader that goes away ends the command quietly', async () => {
  await using cli = startCli(['serve', 'registrar', '--help']);
  cli.child.stdout?.destroy();
  expect(await cli.result).toMatchObject({ code: 0, stderr: '' });
});

test('who takes a hub down where none is hears so', async () => {
  const { code, stderr } = await runCli(['down']);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('[down] there is no hub in "'),
  });
  expect(stderr).not.toContain('stopped');
});
