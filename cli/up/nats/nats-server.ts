import { globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  asBusError,
  type BusAddress,
  type BusCredentials,
  connectBus,
  setUpStreams,
} from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { findBinary } from '../binaries.ts';
import { type ChildHandle, startChild } from '../process/child-process.ts';
import type { HubState } from '../state/hub-state.ts';
import { natsServerConfig, type NatsServerSettings } from './nats-config.ts';
import { readState, writePrivate } from '../private-files.ts';
import { certificateFiles, writeServerCertificate } from '../state/server-certificate.ts';

export interface EmbeddedNats {
  readonly server: ChildHandle;
  readonly address: BusAddress;
  readonly port: number;
}

/**
 * The identity that makes the streams.
 * @throws RollcallError STATE_INVALID
 */
export function setupUser(stateDir: string): BusCredentials {
  const setup = readState<{ bus: BusCredentials }>(join(stateDir, 'identities', 'setup.json'));
  if (setup) return setup.bus;
  throw new RollcallError('STATE_INVALID', `"${stateDir}" has lost the identity that makes the streams`);
}

/** @returns true, or throws what is not there yet */
export async function makeStreams(
  address: BusAddress,
  user: BusCredentials,
  replicas: number,
): Promise<true> {
  const nc = await connectBus(address, user, 'setup');
  try {
    await setUpStreams(nc, { replicas });
  } catch (cause) {
    throw asBusError(cause);
  } finally {
    await nc.close();
  }
  return true;
}

/**
 * Has the server look at each event when it starts, as it does after a kill (0.1 s for 110 MB). With the index that it leaves when it
 * is stopped in good order it believes that files are as they were, and a damaged event is missed only once somebody reads it.
 */
function forgetIndex(directory: string): void {
  for (const path of globSync(join(directory, 'jetstream', '**', 'streams', 'EVENTS', 'msgs', 'index.db')))
    rmSync(path);
}

/**
 * It reads all of its history, and its fleet wants to come back before anybody else: a thousand agents kept us out for 36 s on two busy
 * cores. One that is stopped for that has to begin anew, and so have they.
 */
const readyWithinMs = 600_000;

/**
 * Starts one server with the certificate that is there.
 * @param options.name - of the process; its files are in a directory of that name, but for the first one's
 */
export function launchNatsServer(
  hub: HubState,
  options: Pick<NatsServerSettings, 'host' | 'port' | 'websocketPort' | 'cluster' | 'withoutSync'> & {
    stateDir: string;
    name: string;
    isReady: () => Promise<boolean>;
  },
): Promise<ChildHandle> {
  const { stateDir, name } = options;
  const directory = join(stateDir, name.replace('nats-server', 'nats'));
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  forgetIndex(directory);
  const configFile = join(directory, 'nats.conf');
  writePrivate(configFile, natsServerConfig(hub, { ...options, directory, ...certificateFiles(stateDir) }));
  return startChild({
    name,
    command: findBinary('nats-server'),
    args: ['-c', configFile],
    stateDir,
    logPath: join(stateDir, 'logs', `${name}.log`),
    readyWithinMs,
    isReady: options.isReady,
  });
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
    /** Its own is the first. */
    websocketPorts?: readonly number[];
    host?: string;
    advertised: readonly string[];
    nowMs: number;
    withoutSync?: boolean | undefined;
  },
): Promise<EmbeddedNats> {
  const { stateDir, port, websocketPorts = [], host = '127.0.0.1', withoutSync } = options;
  const [websocketPort] = websocketPorts;
  writeServerCertificate(hub, options);
  const address = { servers: [`127.0.0.1:${port}`], caPem: hub.caPem };
  const user = setupUser(stateDir);
  const isReady = () => makeStreams(address, user, 1);
  const server = await launchNatsServer(hub, {
    stateDir,
    name: 'nats-server',
    host,
    port,
    websocketPort,
    withoutSync,
    isReady,
  });
  return { server, address, port };
}
