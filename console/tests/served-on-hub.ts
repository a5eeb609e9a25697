import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeObject, requestAccountToken, resources } from '@rollcall/shared/kubernetes';
import { type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { bindRole } from '../../tests/harness/control-plane.ts';
import type { TestEmbeddedHub } from '../../tests/harness/embedded.ts';
import { buildPage, isPageStale } from '../../tools/build-page.mjs';
import { send, type SendOptions } from './send.ts';
import { servingSecret } from './serving-secret.ts';

const system = 'rollcall-system';

export interface ServedOnHub {
  readonly cli: RunningCli;
  /** As it stands in the address. */
  readonly publicHost: string;
  /** A request to its public name, of somebody on the same machine. */
  ask(path: string, options?: SendOptions): ReturnType<typeof send>;
}

/** A person with an account in the hub's API server. @returns a token of it */
export async function addPerson({ up: { admin } }: TestEmbeddedHub, name: string, roles: readonly string[]) {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } };
  await admin.create<KubeObject>(resources.serviceAccounts, account, { namespace: 'default' });
  for (const role of roles) await bindRole(admin, `system:serviceaccount:default:${name}`, role);
  const { token = '' } = await requestAccountToken(admin, { name, namespace: 'default' }, {});
  return token;
}

/** What `rollcall install hub` puts into the API server for people who may read the bus. */
export async function giveBusSecrets({ up: { admin, stateDir } }: TestEmbeddedHub): Promise<void> {
  const creds = readFileSync(join(stateDir, 'inspector.creds'), 'utf8');
  const metadata = { name: 'rollcall-inspector', namespace: system };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { creds } };
  await admin.create<KubeObject>(resources.secrets, secret, { namespace: system });
}

/** `rollcall serve console`, as its pod runs it: with an address and two CAs, and no identity. */
export async function serveConsoleOf(
  hub: TestEmbeddedHub,
  name: string,
  settings: readonly string[],
): Promise<ServedOnHub> {
  if (isPageStale()) await buildPage();
  const { stateDir, natsAddress, plane } = hub.up;
  const at = (file: string) => join(stateDir, `${name}-${file}`);
  const { port } = await loopbackPorts(at('ports.json'), ['port']);
  const domain = 'console.example.org';
  const publicHost = `${domain}:${port}`;
  const { ca, secret } = servingSecret('tls', domain);
  const { caPem: busCa } = JSON.parse(readFileSync(join(stateDir, 'hub.json'), 'utf8')) as { caPem: string };
  const files = {
    'bus-ca': busCa,
    'api-ca': plane.access.caPem ?? '',
    cert: secret.stringData['tls.crt'],
    key: secret.stringData['tls.key'],
  };
  for (const [file, text] of Object.entries(files)) writeFileSync(at(`${file}.pem`), text, { mode: 0o600 });
  const flags = {
    'bus-servers': [natsAddress].flatMap(({ servers }) => servers).join(','),
    'bus-ca-file': at('bus-ca.pem'),
    'api-server': plane.access.server,
    'api-server-ca-file': at('api-ca.pem'),
    'public-host': publicHost,
    'serving-port': String(port),
    'serving-cert-file': at('cert.pem'),
    'serving-key-file': at('key.pem'),
  };
  const given = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const cli = startCli(['serve', 'console', ...given, ...settings]);
  await cli.line(/console runs/);
  return {
    cli,
    publicHost,
    ask: (path, options = {}) =>
      send(`https://127.0.0.1:${port}${path}`, {
        ...options,
        tls: { ca, servername: domain },
        headers: { host: publicHost, ...options.headers },
      }),
  };
}
