import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BusAddress, type BusCredentials, connectBus, setUpStreams } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { findBinary } from './binaries.ts';
import { type ChildHandle, startChild } from './child-process.ts';
import type { HubState } from './hub-state.ts';
import { natsServerConfig } from './nats-config.ts';
import { readState, writePrivate } from './private-files.ts';
import { certificateFiles, writeServerCertificate } from './server-certificate.ts';

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
  options: {
    stateDir: string;
    port: number;
    host?: string;
    advertised: readonly string[];
    nowMs: number;
    syncsAtEnd?: boolean;
  },
): Promise<EmbeddedNats> {
  const { stateDir, port, host = '127.0.0.1' } = options;
  const directory = join(stateDir, 'nats');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeServerCertificate(hub, options);
  const { certificateFile, keyFile } = certificateFiles(stateDir);
  const configFile = join(directory, 'nats.conf');
  writePrivate(
    configFile,
    natsServerConfig(hub, {
      host,
      port,
      directory,
      certificateFile,
      keyFile,
      syncsAtEnd: options.syncsAtEnd ?? false,
    }),
  );

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
