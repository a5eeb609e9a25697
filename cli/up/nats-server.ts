import { mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { type BusAddress, type BusCredentials, connectBus, setUpStreams } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { issueCertificate } from '@rollcall/shared/trust';
import { findBinary } from './binaries.ts';
import { type ChildHandle, startChild } from './child-process.ts';
import type { HubState } from './hub-state.ts';
import { natsServerConfig } from './nats-config.ts';
import { readState, writePrivate } from './private-files.ts';

const certificateLifeMs = 90 * 86_400_000;

export interface EmbeddedNats {
  readonly server: ChildHandle;
  readonly address: BusAddress;
  readonly port: number;
}

async function canSetUp(address: BusAddress, user: BusCredentials): Promise<true> {
  const nc = await connectBus(address, user, 'setup');
  try {
    await setUpStreams(nc, { replicas: 1 });
  } finally {
    await nc.close();
  }
  return true;
}

/**
 * Starts the hub's NATS server and makes its streams.
 * @param options.advertised - host names and IP addresses that agents use; they go into the certificate
 * @throws RollcallError BINARY_MISSING, CHILD_FAILED, BUS_UNREACHABLE
 */
export async function startNatsServer(
  hub: HubState,
  options: { stateDir: string; port: number; host?: string; advertised: readonly string[]; nowMs: number },
): Promise<EmbeddedNats> {
  const { stateDir, port, host = '127.0.0.1' } = options;
  const directory = join(stateDir, 'nats');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const names = ['localhost', ...options.advertised];
  const leaf = issueCertificate({
    ca: { certificatePem: hub.caPem, privateKeyPem: readFileSync(join(directory, 'ca-key.pem'), 'utf8') },
    commonName: 'rollcall hub',
    dnsNames: names.filter((name) => isIP(name) === 0),
    ipAddresses: ['127.0.0.1', ...names.filter((name) => isIP(name) !== 0)],
    usages: ['server'],
    validForMs: certificateLifeMs,
    nowMs: options.nowMs,
  });
  const certificateFile = join(directory, 'server.pem');
  const keyFile = join(directory, 'server-key.pem');
  const configFile = join(directory, 'nats.conf');
  // With the CA behind it: agents that only have its hash find it in the chain (measured: else "pin mismatch; chain of 1").
  writePrivate(certificateFile, leaf.certificatePem + hub.caPem);
  writePrivate(keyFile, leaf.privateKeyPem);
  writePrivate(configFile, natsServerConfig(hub, { host, port, directory, certificateFile, keyFile }));

  const address = { servers: [`127.0.0.1:${port}`], caPem: hub.caPem };
  const setup = readState<{ bus: BusCredentials }>(join(stateDir, 'identities', 'setup.json'));
  if (!setup)
    throw new RollcallError('STATE_INVALID', `"${stateDir}" has lost the identity that makes the streams`);
  const server = await startChild({
    name: 'nats-server',
    command: findBinary('nats-server'),
    args: ['-c', configFile],
    stateDir,
    logPath: join(stateDir, 'logs', 'nats-server.log'),
    readyWithinMs: 30_000,
    isReady: () => canSetUp(address, setup.bus),
  });
  return { server, address, port };
}
