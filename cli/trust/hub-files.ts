import { join } from 'node:path';
import type { BusAddress, BusCredentials } from '@rollcall/shared/bus';
import type { SignedLink } from '@rollcall/shared/protocol';
import type { HubCas } from '@rollcall/shared/protocol/hub-cas';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentRole, AgentSigners, HubKeys } from '@rollcall/shared/rights';
import type { HubState } from '../up/state/hub-state.ts';
import { natsPorts } from '../up/state/nats-servers-of.ts';
import { type OfflineKeys, readOfflineKeys } from '../up/state/offline-keys.ts';
import { inTurn } from '../up/state/state-lock.ts';
import { readState, writePrivate } from '../up/private-files.ts';
import { reloadNatsServer } from '../up/state/server-certificate.ts';
import { publishHubInfo } from './publish-hub-info.ts';

/** What of the registrar's identity rolls over. */
export interface RegistrarIdentity {
  readonly replyKeySeed: string;
  readonly replyChain?: readonly SignedLink[];
  readonly hubCas?: HubCas;
  readonly hubAddresses?: readonly string[];
  readonly agentSigners: Readonly<Record<AgentRole, string>>;
  readonly bus: BusCredentials;
}

/** What of the account-controller's does. */
export interface AccountControllerIdentity {
  readonly hubKeys: HubKeys;
  readonly formerAgentSigners?: readonly AgentSigners[];
  readonly operatorSigningSeed: string;
  /** For the events: what agents know the hub by, and who rotated last. */
  readonly knownBy?: {
    readonly replyKey?: string;
    readonly cas?: readonly string[];
    readonly addresses?: readonly string[];
  };
  readonly rotatedBy?: { readonly person: string; readonly from: string };
  readonly sys: BusCredentials;
  readonly bus: BusCredentials;
}

interface Documents {
  readonly hub: HubState;
  readonly offline: OfflineKeys;
  readonly registrar: RegistrarIdentity;
  readonly 'account-controller': AccountControllerIdentity;
}

/** The keys of a hub that this machine holds, in the files where services and the next start read them. */
export interface HubFiles {
  readonly stateDir: string;
  readonly address: BusAddress;
  read<Name extends keyof Documents>(name: Name): Documents[Name];
  /** Whole or not at all. Order matters where a crash in between must leave something that works. */
  change<Name extends keyof Documents>(
    name: Name,
    how: (document: Documents[Name]) => Documents[Name],
  ): Documents[Name];
  /** Has what was changed come to where services read it. */
  publish(): Promise<void>;
  /** They have all read it by then. */
  readonly readWithinMs: number;
  /** Says in ConfigMap rollcall-hub how the hub is known now, for whoever makes tokens. */
  tellHub(): Promise<void>;
  /** Has the servers take their certificate and configuration of now. @returns what they have taken by then, and not only at their next start */
  toServers(): Promise<{ readonly certificate: boolean; readonly configuration: boolean }>;
}

/** Services look at their files every 2 s. */
const filesReadWithinMs = 5000;

const paths: Record<keyof Documents, readonly string[]> = {
  hub: ['hub.json'],
  offline: ['offline', 'keys.json'],
  registrar: ['identities', 'registrar.json'],
  'account-controller': ['identities', 'account-controller.json'],
};

/** @throws RollcallError HUB_MISSING, STATE_INVALID; KEYS_OFFLINE where those are read */
export function openHubFiles(stateDir: string): HubFiles {
  function read<Name extends keyof Documents>(name: Name): Documents[Name] {
    // The cast is sound: these are the documents of that name.
    if (name === 'offline') return readOfflineKeys(stateDir) as Documents[Name];
    const path = join(stateDir, ...paths[name]);
    const found = readState<Documents[Name]>(path);
    if (found) return found;
    throw new RollcallError(
      'HUB_MISSING',
      `there is no hub whose keys could be seen here: no file "${path}"`,
    );
  }
  const { caPem } = read('hub');
  return {
    stateDir,
    address: { servers: natsPorts(stateDir).map((port) => `127.0.0.1:${port}`), caPem },
    read,
    change: (name, how) =>
      // Whoever only looks (`trust status`) notes something, too, and takes nothing back that a rotation has written meanwhile.
      inTurn(stateDir, 'keys.lock', () => {
        const changed = how(read(name));
        writePrivate(join(stateDir, ...paths[name]), JSON.stringify(changed, undefined, 2));
        return changed;
      }),
    // These are the files that services read.
    publish: () => Promise.resolve(),
    readWithinMs: filesReadWithinMs,
    tellHub: () => publishHubInfo(stateDir, read('hub')),
    // The next start writes its configuration.
    toServers: () => Promise.resolve({ certificate: reloadNatsServer(stateDir), configuration: false }),
  };
}
