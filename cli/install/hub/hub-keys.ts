import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { credsFiles, type HubState, openHubState } from '../../up/state/hub-state.ts';
import { natsServerConfig } from '../../up/nats/nats-config.ts';
import { serverCountOf } from '../../up/state/nats-servers-of.ts';
import { renewHubState } from '../../up/state/renew-hub-state.ts';
import {
  advertisedNow,
  certificateFiles,
  renewServerCertificate,
  writeServerCertificate,
} from '../../up/state/server-certificate.ts';
import { type FilesSecret, filesSecret } from '../files-secret.ts';
import type { HubValues } from './hub-values.ts';

/** Names that services in the cluster reach the servers by. */
const innerNames = ['rollcall-nats', 'rollcall-nats.rollcall-system', 'rollcall-nats.rollcall-system.svc'];
/** Names that servers reach each other by (deploy/hub/nats.yaml). */
const peerNames = [0, 1, 2].map((pod) => `rollcall-nats-${pod}.rollcall-nats-peers.rollcall-system.svc`);
/** Where deploy/hub/nats.yaml mounts what the server reads and keeps. */
const mounted = { files: '/var/run/rollcall/nats', data: '/var/lib/rollcall' } as const;

/** A certificate that stands is kept until the last third of its life: another one starts the server again. */
function keepCertificate(hub: HubState, stateDir: string, hosts: readonly string[]): void {
  const peers = serverCountOf(stateDir) === 1 ? [] : peerNames;
  const advertised = [...innerNames, ...peers, ...hosts];
  const { certificateFile } = certificateFiles(stateDir);
  const known = existsSync(certificateFile) ? advertisedNow(stateDir) : [];
  if (advertised.every((name) => known.includes(name)))
    return void renewServerCertificate(hub, { stateDir, nowMs: Date.now() });
  writeServerCertificate(hub, { stateDir, advertised, nowMs: Date.now() });
}

/** Who each service is. */
export function identitySecrets(stateDir: string, caPem: string): FilesSecret[] {
  const directory = join(stateDir, 'identities');
  return readdirSync(directory).map((file) => {
    const files = { 'identity.json': readFileSync(join(directory, file), 'utf8'), 'ca.pem': caPem };
    return filesSecret(`rollcall-identity-${file.replace('.json', '')}`, files);
  });
}

/** For people who may read the bus. */
export const peoplesSecrets = (stateDir: string): FilesSecret[] =>
  Object.entries(credsFiles)
    // One that somebody took away stays away.
    .filter(([, file]) => existsSync(join(stateDir, file)))
    .map(([role, file]) =>
      filesSecret(`rollcall-${role}`, { creds: readFileSync(join(stateDir, file), 'utf8') }),
    );

export interface HubKeysInstalled {
  readonly hub: HubState;
  /** For pods, one for each who needs it. The keys that only sign stay in the directory. */
  readonly secrets: readonly FilesSecret[];
  readonly peoplesSecrets: readonly FilesSecret[];
  /** Changes with what the NATS server reads when it starts. */
  readonly digest: string;
}

/**
 * The keys of a hub: those of the directory, or new ones. How many servers it has is said before (`setServerCount`).
 * @param options.hosts - names and addresses by which agents reach the servers
 * @param options.withWebSocket - whether they listen for that as well
 * @throws RollcallError STATE_INVALID, STATE_VERSION, KEYS_OFFLINE
 */
export function hubKeys(
  stateDir: string,
  {
    hosts,
    nats,
    withWebSocket,
  }: { hosts: readonly string[]; nats: HubValues['nats']; withWebSocket: boolean },
): HubKeysInstalled {
  const nowMs = Date.now();
  renewHubState(openHubState(stateDir, nowMs), stateDir, nowMs, { withWebSocket });
  const hub = openHubState(stateDir, nowMs);
  keepCertificate(hub, stateDir, hosts);
  const read = (...path: string[]) => readFileSync(join(stateDir, ...path), 'utf8');
  const cluster = {
    // As the pod is called.
    serverName: '$POD_NAME',
    routePort: nats.routePort,
    routes: peerNames.map((name) => `${name}:${nats.routePort}`),
    caFile: `${mounted.files}/ca.pem`,
    isToldToClients: false,
  };
  const server = {
    'nats.conf': natsServerConfig(hub, {
      host: nats.host,
      port: nats.port,
      websocketPort: withWebSocket ? nats.websocketPort : undefined,
      directory: mounted.data,
      certificateFile: `${mounted.files}/server.pem`,
      keyFile: `${mounted.files}/server-key.pem`,
      ...(serverCountOf(stateDir) === 1 ? {} : { cluster }),
    }),
    'server.pem': read('nats', 'server.pem'),
    'server-key.pem': read('nats', 'server-key.pem'),
    'ca.pem': read('nats', 'ca.pem'),
  };
  return {
    hub,
    secrets: [filesSecret('rollcall-nats', server), ...identitySecrets(stateDir, hub.caPem)],
    peoplesSecrets: peoplesSecrets(stateDir),
    digest: createHash('sha256').update(JSON.stringify(server)).digest('hex'),
  };
}
