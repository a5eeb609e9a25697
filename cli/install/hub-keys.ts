import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { type HubState, openHubState } from '../up/hub-state.ts';
import { natsServerConfig } from '../up/nats-config.ts';
import { renewHubState } from '../up/renew-hub-state.ts';
import {
  advertisedNow,
  certificateFiles,
  renewServerCertificate,
  writeServerCertificate,
} from '../up/server-certificate.ts';

type Secret = KubeObject & { readonly data: Readonly<Record<string, string>> };

/** Names that services in the cluster reach the server by. */
const innerNames = ['rollcall-nats', 'rollcall-nats.rollcall-system', 'rollcall-nats.rollcall-system.svc'];
/** Where deploy/hub/nats.yaml mounts what the server reads and keeps. */
const mounted = { files: '/var/run/rollcall/nats', data: '/var/lib/rollcall' } as const;

function secret(name: string, files: Readonly<Record<string, string>>): Secret {
  const encoded = Object.entries(files).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const labels = { 'app.kubernetes.io/part-of': 'rollcall' };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'rollcall-system', labels },
    data: Object.fromEntries(encoded) as Record<string, string>,
  };
}

/** A certificate that stands is kept until the last third of its life: another one starts the server again. */
function keepCertificate(hub: HubState, stateDir: string, hosts: readonly string[]): void {
  const advertised = [...innerNames, ...hosts];
  const { certificateFile } = certificateFiles(stateDir);
  const known = existsSync(certificateFile) ? advertisedNow(stateDir) : [];
  if (advertised.every((name) => known.includes(name)))
    return void renewServerCertificate(hub, { stateDir, nowMs: Date.now() });
  writeServerCertificate(hub, { stateDir, advertised, nowMs: Date.now() });
}

export interface HubKeysInstalled {
  readonly hub: HubState;
  /** Everything secret that runs: one Secret for each who needs it. The keys that only sign stay in the directory. */
  readonly secrets: readonly Secret[];
  /** Changes with what the NATS server reads when it starts. */
  readonly digest: string;
}

/**
 * The keys of a hub: those of the directory, or new ones.
 * @param options.hosts - names and addresses by which agents reach the server
 * @throws RollcallError STATE_INVALID, STATE_VERSION, KEYS_OFFLINE
 */
export function hubKeys(
  stateDir: string,
  options: { hosts: readonly string[]; host: string; port: number },
): HubKeysInstalled {
  const nowMs = Date.now();
  renewHubState(openHubState(stateDir, nowMs), stateDir, nowMs);
  const hub = openHubState(stateDir, nowMs);
  keepCertificate(hub, stateDir, options.hosts);
  const read = (...path: string[]) => readFileSync(join(stateDir, ...path), 'utf8');
  const server = {
    'nats.conf': natsServerConfig(hub, {
      host: options.host,
      port: options.port,
      directory: mounted.data,
      certificateFile: `${mounted.files}/server.pem`,
      keyFile: `${mounted.files}/server-key.pem`,
    }),
    'server.pem': read('nats', 'server.pem'),
    'server-key.pem': read('nats', 'server-key.pem'),
  };
  const identities = readdirSync(join(stateDir, 'identities')).map((file) => {
    const files = { 'identity.json': read('identities', file), 'ca.pem': hub.caPem };
    return secret(`rollcall-identity-${file.replace('.json', '')}`, files);
  });
  return {
    hub,
    secrets: [
      secret('rollcall-nats', server),
      secret('rollcall-ops', { creds: read('ops.creds') }),
      ...identities,
    ],
    digest: createHash('sha256').update(JSON.stringify(server)).digest('hex'),
  };
}
