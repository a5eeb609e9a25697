import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { loadConfig, parseDurationMs } from '@rollcall/shared/config';
import { readJsonLines } from '@rollcall/shared/kubernetes';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { readIdentity } from '@rollcall/shared/service';
import { z } from 'zod';
import { type AgentState, decodeAgentState, encodeAgentState } from '../../../agent/keys/key-store.ts';
import { readMemberKubeconfig } from '../../../services/agent-host/judge-kubeconfig.ts';
import { createAddressJudge } from '../../../services/agent-host/refused-address.ts';
import { parseHubAddress } from '../../../agent/hub/hub-address.ts';
import { formatQuantity, parseQuantity } from '../../../agent/facts/quantity.ts';
import { bodyOf, parseHeader, parseLine } from '../../../cli/backup/backup-format.ts';
import { checkSecretFiles } from '../../../cli/backup/backed-up-files.ts';
import { parseLabels } from '../../../cli/labels-flag.ts';
import { parseCreds } from '../../../cli/up/state/people-connection.ts';
import { accessFromKubeconfig } from '../../../libs/shared/kubernetes/kubeconfig/kubeconfig.ts';
import { configSchema } from '../../../services/registrar/config.ts';
import { bytesOf, type FuzzedDecoder, jsonBytes, must, textOf } from '../fuzzed-decoder.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-fuzz-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
/** For decoders that read a file themselves. */
function inFile(name: string, input: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, input, { mode: 0o600 });
  return path;
}

const credsText = `-----BEGIN NATS USER JWT-----
e30.e30.AA
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
SUAA
------END USER NKEY SEED------
`;
const creds: FuzzedDecoder = {
  name: 'creds',
  form: 'text',
  words: ['-----BEGIN NATS USER JWT-----', '-----BEGIN USER NKEY SEED-----', '\n', ' '.repeat(500), '-----'],
  samples: [bytesOf(credsText)],
  decode(input) {
    const { jwt, seed } = parseCreds(textOf(input));
    must(!/\s/.test(jwt + seed), 'neither part has white space');
    return 'taken';
  },
};

const identity: FuzzedDecoder = {
  name: 'identity',
  form: 'json',
  samples: [jsonBytes({ hubId: 'h', epoch: 1, bus: { jwt: 'j', seed: 's' }, answerSeed: 'SA' })],
  decode(input) {
    const read = readIdentity(inFile('identity.json', input), { answerSeed: z.string() });
    must(Number.isSafeInteger(read.epoch) && read.epoch >= 1, 'an epoch is a whole number');
    return 'taken';
  },
};

const state: AgentState = {
  version: 1,
  seed: 'SU',
  sealingSeed: 'SX',
  clusterId: 'id-1',
  hubId: 'h',
  member: { jwt: 'j', renewAtMs: 1, heartbeatIntervalMs: 15_000, clusterName: 'one', namespace: 'one' },
};
const agentState: FuzzedDecoder = {
  name: 'agent-state',
  form: 'json',
  samples: [bytesOf(encodeAgentState(state).split('\n')[1] ?? '')],
  // A digest is no signature: whoever edits the file can make it anew.
  seal(body) {
    const text = textOf(body);
    const digest = createHash('sha256').update(text).digest('hex');
    return bytesOf(`sha256:${digest}\n${text}\n`);
  },
  decode(input) {
    const read = decodeAgentState(textOf(input), 'here');
    must(typeof read.seed === 'string' && typeof read.sealingSeed === 'string', 'keys are text');
    must(typeof read.clusterId === 'string' && typeof read.hubId === 'string', 'ids are text');
    return 'taken';
  },
};

const kubeconfigText = `apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: 'https://one:6443', certificate-authority-data: QUJD, tls-server-name: other}
users:
- name: u1
  user:
    token: t1
    exec: {apiVersion: client.authentication.k8s.io/v1, command: never-run, args: [a], env: [{name: A, value: b}]}
contexts:
- {name: one, context: {cluster: c1, user: u1, namespace: n1}}
`;
const yamlWords = [
  '&a',
  '*a',
  '<<: *a',
  '&a [*a, *a]',
  '!!js/function',
  '!!binary',
  '!!set',
  '? ',
  ': ',
  '- ',
  '|',
  '>',
  '---\n',
  '...\n',
  '%YAML 1.1\n',
  '\t',
  '#',
  '{',
  '[',
  '~',
  '.inf',
  '0x10',
  '1_000',
];
const kubeconfig: FuzzedDecoder = {
  name: 'kubeconfig',
  form: 'text',
  words: yamlWords,
  samples: [
    bytesOf(kubeconfigText),
    bytesOf('clusters: [{name: a, cluster: {server: "https://a"}}]\nusers: [{name: a, user: {}}]\n'),
  ],
  decode(input) {
    const access = accessFromKubeconfig([{ path: join(folder, 'kubeconfig'), text: textOf(input) }]);
    must(new URL(access.server).protocol === 'https:', 'the server speaks TLS');
    return 'taken';
  },
};

const judge = createAddressJudge({
  allowLoopback: false,
  hub: [{ host: '192.0.2.1', port: 6443 }],
  refusedRanges: ['10.96.0.0/12'],
});
const inlineText = kubeconfigText
  .replace(/^ {4}exec: .*\n/m, '')
  .replace(/certificate-authority-data: QUJD, /, '');
/** A member's, from a Secret: the hub connects to what it names. */
const memberKubeconfig: FuzzedDecoder = {
  name: 'member-kubeconfig',
  form: 'text',
  words: [
    ...yamlWords,
    'https://127.0.0.1',
    'https://[::ffff:7f00:1]',
    'https://169.254.169.254',
    'https://0x7f.1',
    'https://localhost.',
    'https://192.0.2.1:1',
    'insecure-skip-tls-verify: true',
    'proxy-url: x',
    'as: x',
    'tokenFile: /x',
    'exec: {}',
  ],
  samples: [bytesOf(inlineText)],
  decode(input) {
    const access = readMemberKubeconfig(textOf(input), judge);
    const { protocol, hostname, username, password } = new URL(access.server);
    must(
      protocol === 'https:' && username + password === '',
      'the server speaks TLS, and nobody is named in it',
    );
    const host = hostname.replace(/^\[|\]$/g, '');
    must(
      isIP(host) === 0 || judge.whyRefused(host, 443, judge.rules.hub) === undefined,
      'its address may be reached',
    );
    must(!/^(.*\.)?localhost\.?$/i.test(host), 'it is not this host');
    must(
      typeof (access.token ?? '') === 'string' && !/[\r\n]/.test(String(access.token)),
      'a token is one line',
    );
    must(access.contextName === 'member', 'its names are ours');
    return 'taken';
  },
};

const config: FuzzedDecoder = {
  name: 'config',
  form: 'text',
  words: yamlWords,
  samples: [
    bytesOf(
      'busServers: one:4222,two:4222\nbusCaFile: /ca.pem\nidentityFile: /id.json\nmemberLife: 24h\nhealthPort: 0\n',
    ),
  ],
  decode(input) {
    const read = loadConfig(configSchema, { flags: {}, environment: {}, file: inFile('config.yaml', input) });
    must(Number.isSafeInteger(read.memberLife), 'a duration is a whole number of ms');
    return 'taken';
  },
};

const watchLines: FuzzedDecoder = {
  name: 'watch-lines',
  form: 'json',
  maxBytes: 1_048_576,
  samples: ['ADDED', 'BOOKMARK', 'ERROR'].map((type) =>
    bytesOf(`${JSON.stringify({ type, object: { metadata: { name: 'a', resourceVersion: '1' } } })}\n`),
  ),
  seal: (body) => bytesOf(`${textOf(body)}\n`),
  async decode(input) {
    // In pieces, as a socket gives them: a line may end anywhere, also within a character.
    const pieces = Array.from({ length: Math.ceil(input.length / 37) }, (_, at) =>
      Buffer.from(input.subarray(at * 37, at * 37 + 37)),
    );
    let count = 0;
    for await (const value of readJsonLines(Readable.from(pieces))) if (value !== undefined) count++;
    return count > 0 ? 'taken' : 'refused';
  },
};

const kubeError: FuzzedDecoder = {
  name: 'kube-error',
  form: 'json',
  maxBytes: 1_048_576,
  samples: [
    jsonBytes({
      kind: 'Status',
      message: 'no',
      reason: 'Forbidden',
      code: 403,
      details: { name: 'a', causes: [] },
    }),
    bytesOf('<html>502</html>'),
  ],
  decode(input) {
    const error = kubeApiError(500, textOf(input), 'GET /x');
    must(
      typeof error.status === 'number' && typeof error.reason === 'string',
      'an answer has a code and a reason',
    );
    must(Array.isArray(error.details.causes ?? []), 'causes are a list');
    for (const cause of error.details.causes ?? []) must(typeof cause === 'object', 'a cause is an object');
    must(
      typeof error.message === 'string' && typeof error.retry === 'boolean',
      'it can be told and tried again',
    );
    return 'taken';
  },
};

const flags: FuzzedDecoder = {
  name: 'flags',
  form: 'text',
  words: [
    '1d',
    '2h',
    'm',
    's',
    '=',
    ',',
    '/',
    ':',
    '[::1]',
    '65536',
    'Ki',
    'E',
    '9'.repeat(400),
    'a'.repeat(64),
  ],
  samples: ['1h30m', 'region=eu,example.com/env=prod', 'tls://[::1]:4222', 'hub:4222', '1500m', '16Gi'].map(
    bytesOf,
  ),
  decode(input) {
    const text = textOf(input);
    let taken = 0;
    if (parseDurationMs(text) !== undefined) taken++;
    const quantity = parseQuantity(text);
    if (quantity !== undefined && formatQuantity(quantity, true) !== '') taken++;
    for (const parse of [parseLabels, parseHubAddress]) {
      try {
        parse(text);
        taken++;
      } catch (error) {
        if (taken === 0 && parse === parseHubAddress) throw error;
      }
    }
    return taken > 0 ? 'taken' : 'refused';
  },
};

const backupHeader = {
  rollcallBackup: 1,
  rollcallVersion: '0.1.0',
  hubId: 'h',
  epoch: 1,
  takenAtMs: 1,
  throughSequence: 2,
  handled: { registrar: 2 },
  sealing: { kind: 'passphrase', salt: 'AA==', cost: 16_384, blockSize: 8 },
};
const streamLine = { stream: 'EVENTS', sequence: 1, subject: 'a.b', timeMs: 1, headers: { 'ce-id': 'x' } };
const secretFiles = {
  'hub.json': '{}',
  'identities/registrar.json': '{}',
  'identities/account-controller.json': '{}',
};
/** Line by line: anybody can write a file, and make its digests anew. */
const backup: FuzzedDecoder = {
  name: 'backup',
  form: 'json',
  maxBytes: 1_048_576,
  samples: [
    backupHeader,
    { ...backupHeader, sealing: { kind: 'key', recipient: `X${'A'.repeat(55)}` } },
    { ...streamLine, text: '{}', digest: 'sha256:00' },
    { ...streamLine, base64: '/w==' },
    { object: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } } },
    { keys: { nonce: 'AAAA', sealed: 'AAAA', sender: '' } },
    { end: { lines: 5, digest: 'sha256:00' } },
    { files: secretFiles },
  ].map(jsonBytes),
  decode(input) {
    const text = textOf(input);
    if (text.startsWith('{"rollcallBackup"')) {
      must(parseHeader(text).epoch >= 1, 'an epoch is a whole number');
      return 'taken';
    }
    if (text.startsWith('{"files"')) return restoredFiles(text);
    const line = parseLine(text, 2);
    if ('stream' in line) bodyOf(line);
    return 'taken';
  },
};

/** They are written below the state directory, where they say. */
function restoredFiles(text: string): 'taken' | 'refused' {
  const parsed = z.record(z.string(), z.string()).safeParse(filesOf(text));
  if (!parsed.success) return 'refused';
  checkSecretFiles(parsed.data, 'h');
  for (const path of Object.keys(parsed.data))
    must(!/^[/~]|\.\.|\0/.test(path), 'a file of a backup stays below the state directory');
  return 'taken';
}

function filesOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { files?: unknown }).files;
  } catch {
    return undefined;
  }
}

/** Files, flags, and what API servers say. */
export const fileDecoders: readonly FuzzedDecoder[] = [
  creds,
  identity,
  agentState,
  kubeconfig,
  memberKubeconfig,
  config,
  watchLines,
  kubeError,
  flags,
  backup,
];
export { yamlWords };
