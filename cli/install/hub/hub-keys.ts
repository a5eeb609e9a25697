import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { credsFiles, type HubState, openHubState } from '../../up/state/hub-state.ts';
import { RollcallError } from '@rollcall/shared/errors';
import { natsServerConfig } from '../../up/nats/nats-config.ts';
import { readState, writePrivate } from '../../up/private-files.ts';
import { refuseHalfRestored, restoreInPodsUnderWay } from '../../up/state/half-restored.ts';
import { serverCountOf } from '../../up/state/nats-servers-of.ts';
import {
  type GatewayCertificate,
  keepGatewayCertificate,
  readGatewayCertificate,
} from '../../up/state/gateway-certificate.ts';
import { upgradeHubState } from '../../up/state/upgrade-hub-state.ts';
import {
  certificateFiles,
  isFor,
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
  if (existsSync(certificateFile) && isFor(stateDir, advertised))
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

/** Of the same, what a pod of the hub has: that which sends events to a sink (deploy/hub/forward.yaml). */
export const forwardSecrets = (peoples: readonly FilesSecret[]): FilesSecret[] =>
  peoples.filter(({ metadata }) => metadata.name === 'rollcall-ops');

/** Where the servers listen in their pods: said when the hub is installed, and needed whenever their configuration is made anew. */
interface Listening {
  readonly host: string;
  readonly port: number;
  readonly routePort: number;
  readonly websocketPort?: number;
}
const listeningPath = (stateDir: string) => join(stateDir, 'nats', 'listening.json');

export interface HubSecrets {
  readonly hub: HubState;
  /** By which the API server knows the member gateway, PEM; none of a directory that an older version made. */
  readonly memberGatewayCa: string | undefined;
  /** For pods, one for each who needs it. The keys that only sign stay in the directory. */
  readonly secrets: readonly FilesSecret[];
  readonly peoplesSecrets: readonly FilesSecret[];
  /** Changes with what the NATS server reads when it starts. */
  readonly digest: string;
}

/** What a NATS server reads when it starts. */
function serverFiles(hub: HubState, stateDir: string): Readonly<Record<string, string>> {
  const listening = readState<Listening>(listeningPath(stateDir));
  if (!listening) {
    const message = `"${stateDir}" does not say where the servers of its hub listen: run \`rollcall install hub\` with it once more`;
    throw new RollcallError('STATE_INVALID', message);
  }
  const { routePort, ...listens } = listening;
  const isAlone = serverCountOf(stateDir) === 1;
  const cluster = {
    // As the pod is called.
    serverName: '$POD_NAME',
    routePort,
    routes: peerNames.map((name) => `${name}:${routePort}`),
    caFile: `${mounted.files}/ca.pem`,
    isToldToClients: false,
  };
  const { certificateFile, keyFile } = certificateFiles(stateDir);
  return {
    'nats.conf': natsServerConfig(hub, {
      ...listens,
      directory: mounted.data,
      certificateFile: `${mounted.files}/server.pem`,
      keyFile: `${mounted.files}/server-key.pem`,
      ...(isAlone ? {} : { cluster }),
    }),
    'server.pem': readFileSync(certificateFile, 'utf8'),
    'server-key.pem': readFileSync(keyFile, 'utf8'),
    // By which they know each other.
    ...(isAlone ? {} : { 'ca.pem': hub.caPem }),
  };
}

/** What the member gateway shows to the API server. */
function gatewaySecrets(certificate: GatewayCertificate | undefined): FilesSecret[] {
  if (!certificate) return [];
  const { certificatePem, privateKeyPem } = certificate;
  const files = { 'server.pem': certificatePem, 'server-key.pem': privateKeyPem };
  return [filesSecret('rollcall-member-gateway', files)];
}

/**
 * What pods have of the keys in the directory, as they are now.
 * @throws RollcallError STATE_INVALID, STATE_VERSION
 */
export function hubSecrets(stateDir: string): HubSecrets {
  const hub = openHubState(stateDir, Date.now());
  const server = serverFiles(hub, stateDir);
  const gateway = readGatewayCertificate(stateDir);
  return {
    hub,
    memberGatewayCa: gateway?.caPem,
    secrets: [
      filesSecret('rollcall-nats', server),
      ...gatewaySecrets(gateway),
      ...(restoreInPodsUnderWay(stateDir) ? [] : identitySecrets(stateDir, hub.caPem)),
    ],
    peoplesSecrets: peoplesSecrets(stateDir),
    digest: createHash('sha256').update(JSON.stringify(server)).digest('hex'),
  };
}

/**
 * The keys of a hub: those of the directory, or new ones. How many servers it has is said before (`setServerCount`).
 * @param options.hosts - names and addresses by which agents reach the servers
 * @param options.withWebSocket - whether they listen for that as well
 * @throws RollcallError STATE_INVALID, STATE_VERSION, KEYS_OFFLINE, RESTORE_UNFINISHED
 */
export function hubKeys(
  stateDir: string,
  {
    hosts,
    nats: { host, port, routePort, websocketPort },
    withWebSocket,
  }: { hosts: readonly string[]; nats: HubValues['nats']; withWebSocket: boolean },
): HubSecrets {
  refuseHalfRestored(stateDir);
  const nowMs = Date.now();
  upgradeHubState(stateDir, nowMs, { withWebSocket });
  keepCertificate(openHubState(stateDir, nowMs), stateDir, hosts);
  keepGatewayCertificate(stateDir, nowMs);
  const listening: Listening = { host, port, routePort, ...(withWebSocket ? { websocketPort } : {}) };
  writePrivate(listeningPath(stateDir), JSON.stringify(listening));
  return hubSecrets(stateDir);
}
