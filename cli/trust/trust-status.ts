import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toRollcallError } from '@rollcall/shared/errors';
import { serviceRoles } from '@rollcall/shared/rights';
import { decodeJwt, keyFingerprint, nkeyFromSeed, spkiPin } from '@rollcall/shared/trust';
import { documentText, type DocumentFormat } from '../terminal/document-text.ts';
import { printResult } from '../terminal/output.ts';
import { stateDirectory } from '../state-directory.ts';
import { type RotatedKey, rotatedKeys } from '../up/state/hub-state.ts';
import { readState } from '../up/private-files.ts';
import { type AgentConnections, agentConnections, connectedBy } from './agent-connections.ts';
import { type KeysFlags, openHubAnywhere } from '../install/hub/hub-in-pods.ts';
import type { HubFiles } from './hub-files.ts';
import { noteLongestLife } from './longest-life.ts';
import { rotationStep } from './rotation-step.ts';

export interface TrustStatusFlags extends KeysFlags {
  readonly output: 'text' | DocumentFormat;
}

/** Every key of a hub by its fingerprint, what it is good for and until when; nothing secret. */
export interface TrustStatus {
  readonly hub: string;
  readonly replyKey: { readonly fingerprint: string; readonly successorsOfTheFirst: number };
  readonly cas: readonly { readonly pin: string; readonly ends: string; readonly issues: boolean }[];
  readonly addresses: readonly string[];
  readonly serverCertificate: { readonly ends: string };
  readonly signingKeys: readonly {
    readonly role: string;
    readonly fingerprint: string;
    readonly state: 'signs' | 'good';
    readonly agents?: number;
  }[];
  readonly accounts: Readonly<Record<string, string>>;
  readonly operator: { readonly root: string; readonly listed: readonly string[]; readonly signs: string };
  readonly callout: { readonly user: string; readonly sealing: string };
  readonly sentinel: { readonly fingerprint: string; readonly ends: string };
  readonly services: readonly {
    readonly name: string;
    readonly fingerprint: string;
    readonly ends: string;
    /** While their keys roll over: it has not taken its new user yet. */
    readonly connectedWith?: string;
  }[];
  /** Signs the users of services and of people who watch; `former`: those it signed are good too. */
  readonly serviceKey: { readonly fingerprint: string; readonly former?: string };
  readonly agents: { readonly connected: number } | { readonly unknown: string };
  readonly rotations: readonly {
    readonly key: RotatedKey;
    readonly stage: string;
    readonly since: string;
    readonly next: string;
    readonly due: string;
    /** Of the connected agents: with credentials issued since, so that they have heard of it. */
    readonly agentsThatHeard?: string;
  }[];
}

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\s*/g;
const never = 'never';

function endOf(jwt: string | undefined): string {
  const exp = jwt === undefined ? undefined : decodeJwt(jwt)?.exp;
  return exp === undefined ? never : new Date(exp * 1000).toISOString();
}

function userOf(files: HubFiles, name: string, former: readonly string[]): TrustStatus['services'][number] {
  const file = join(files.stateDir, 'identities', `${name}.json`);
  const jwt = readState<{ bus: { jwt: string } }>(file)?.bus.jwt;
  const subject = jwt === undefined ? undefined : decodeJwt(jwt)?.sub;
  return {
    name,
    fingerprint: subject === undefined ? 'missing' : keyFingerprint(subject),
    ends: endOf(jwt),
    ...(former.includes(name) ? { connectedWith: 'its former user' } : {}),
  };
}

function signingKeysOf(files: HubFiles, agents: AgentConnections | undefined): TrustStatus['signingKeys'] {
  const { keys } = files.read('hub');
  const signing = nkeyFromSeed(files.read('registrar').agentSigners.member).publicKey;
  return [keys.agentSigners, ...(keys.moreAgentSigners ?? [])].flatMap((generation) =>
    Object.entries(generation).map(([role, key]) => ({
      role,
      fingerprint: keyFingerprint(key),
      state: generation.member === signing ? ('signs' as const) : ('good' as const),
      ...(agents === undefined ? {} : { agents: agents.bySigner[key] ?? 0 }),
    })),
  );
}

/** Reads the files, and asks the servers who is connected; a hub that does not run still has keys. */
export async function trustStatus(files: HubFiles): Promise<TrustStatus> {
  // Whoever looks now and then keeps the due times true: what was in force is known later.
  await noteLongestLife(files);
  const hub = files.read('hub');
  const { keys } = hub;
  const offline = files.read('offline');
  const connections = await agentConnections(files).catch((thrown: unknown) => toRollcallError(thrown));
  const agents = connections instanceof Error ? undefined : connections;
  const former =
    keys.formerHubSigner === undefined
      ? []
      : await connectedBy(files, keys.formerHubSigner).catch((): string[] => []);
  const certificate = new X509Certificate(readFileSync(join(files.stateDir, 'nats', 'server.pem')));
  return {
    hub: hub.hubId,
    replyKey: {
      fingerprint: keyFingerprint(hub.replyKey),
      successorsOfTheFirst: files.read('registrar').replyChain?.length ?? 0,
    },
    cas: (hub.caPem.match(pemBlock) ?? []).map((pem) => ({
      pin: spkiPin(pem),
      ends: new X509Certificate(pem).validToDate.toISOString(),
      issues: spkiPin(pem) === spkiPin(hub.issuingCaPem ?? hub.caPem),
    })),
    addresses: files.read('registrar').hubAddresses ?? [],
    serverCertificate: { ends: certificate.validToDate.toISOString() },
    signingKeys: signingKeysOf(files, agents),
    accounts: {
      SYS: keyFingerprint(keys.sys),
      AUTH: keyFingerprint(keys.auth),
      AGENTS: keyFingerprint(keys.agents),
      HUB: keyFingerprint(keys.hub),
    },
    operator: {
      root: keyFingerprint(nkeyFromSeed(offline.operator).publicKey),
      listed: offline.operatorSigners.map((seed) => keyFingerprint(nkeyFromSeed(seed).publicKey)),
      signs: keyFingerprint(nkeyFromSeed(files.read('account-controller').operatorSigningSeed).publicKey),
    },
    callout: { user: keyFingerprint(keys.calloutUser), sealing: keyFingerprint(keys.calloutXkey) },
    sentinel: {
      fingerprint: keyFingerprint(decodeJwt(hub.sentinelJwt)?.sub ?? ''),
      ends: endOf(hub.sentinelJwt),
    },
    services: Object.keys(serviceRoles).map((name) => userOf(files, name, former)),
    serviceKey: {
      fingerprint: keyFingerprint(keys.hubSigner),
      ...(keys.formerHubSigner === undefined ? {} : { former: keyFingerprint(keys.formerHubSigner) }),
    },
    agents:
      connections instanceof Error
        ? { unknown: connections.message }
        : { connected: Object.values(connections.bySigner).reduce((sum, count) => sum + count, 0) },
    rotations: rotatedKeys.flatMap((key) => {
      const rotation = hub.rotations?.[key];
      if (rotation === undefined) return [];
      const step = rotationStep(key, rotation, hub.credentialLives);
      return [
        {
          key,
          stage: rotation.stage,
          since: new Date(rotation.atMs).toISOString(),
          next: step.kind,
          due: new Date(step.dueAtMs).toISOString(),
          ...(agents === undefined
            ? {}
            : {
                agentsThatHeard: agents.hearing(rotation.atMs).heard,
              }),
        },
      ];
    }),
  };
}

export async function showTrustStatus(flags: TrustStatusFlags): Promise<void> {
  const hub = await openHubAnywhere(flags.keys ?? stateDirectory(), flags);
  const status = await trustStatus(hub.files).finally(() => hub.close());
  printResult(documentText(status, flags.output === 'json' ? 'json' : 'yaml'));
}
