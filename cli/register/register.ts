import {
  directoryKeyStore,
  directoryRotationRequest,
  firstHubCa,
  directoryHubAccess,
  forgetDirectory,
  formatHubAddress,
  type HubAddress,
  type HubNetwork,
  type HubTrust,
} from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient, type KubeClient } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { addressesOf, type FirstContactFlags, tokenOf, trustOf } from '../agent/joining-flags.ts';
import { type MemberAccessFlags, memberAccessOf } from '../agent/member-access-flag.ts';
import { type NetworkFlags, networkOf, throughProxy } from '../agent/network-flags.ts';
import { timeoutFlagMs } from '../duration-flag.ts';
import { agentValuesOf } from '../install/agent/agent-flags.ts';
import { renderFolder } from '../install/deploy-templates.ts';
import { parseLabels } from '../labels-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { checkHub } from './check-hub.ts';
import { checkMember, checkName } from './check-member.ts';
import { reportChecks, runCheck } from './check.ts';
import { runInForeground } from './foreground-agent.ts';
import { nameAsHubsOwn } from './hub-own-cluster.ts';
import { stateDirectoryOf } from './state-place.ts';

export interface RegisterFlags extends MemberFlags, FirstContactFlags, NetworkFlags, MemberAccessFlags {
  readonly token?: string;
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: string;
  readonly clusterType?: 'Standard' | 'Edge';
  readonly run?: boolean;
  readonly manifest?: boolean;
  readonly image?: string;
  readonly stateDir?: string;
  readonly timeout?: string;
  readonly dryRun?: boolean;
}

/** What is asked for, once every flag is read and valid. */
interface Registration {
  readonly addresses: readonly HubAddress[];
  readonly network: HubNetwork;
  readonly trust: HubTrust;
  readonly token: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  readonly flags: RegisterFlags;
}

/**
 * How the hub is known. Trusting whoever answers first has to be said in so many words; the agent then keeps that CA, and
 * takes no other one later.
 * @throws RollcallError USAGE; what firstHubCa throws
 */
async function hubTrustOf(
  addresses: readonly HubAddress[],
  network: HubNetwork,
  flags: RegisterFlags,
): Promise<HubTrust> {
  const trust = trustOf(flags);
  if (!flags.insecureTrustFirstCa) {
    if (trust) return trust;
    throw new RollcallError(
      'USAGE',
      'give --ca-cert-hash or --ca-file, so that the hub can be told from others',
    );
  }
  if (trust)
    throw new RollcallError('USAGE', 'give either --insecure-trust-first-ca, or --ca-cert-hash or --ca-file');
  const { caPem, pin } = await firstHubCa(addresses, network);
  say(`[preflight] hub-ca: NOT verified, trusting the first CA that was shown: ${pin}`);
  say(`[preflight] hint: compare it with the hub (ConfigMap rollcall-hub), then use --ca-cert-hash ${pin}`);
  return { caPem };
}

/** @throws RollcallError USAGE; what firstHubCa throws */
async function readFlags(hub: string, flags: RegisterFlags): Promise<Registration> {
  if (flags.run === flags.manifest && !flags.dryRun) {
    throw new RollcallError(
      'USAGE',
      'say how the agent shall run: --run (here, in the foreground) or --manifest (print what installs it in the member)',
    );
  }
  const addresses = addressesOf([hub]);
  const network = networkOf(flags);
  const asked = {
    addresses,
    network,
    token: tokenOf(flags.token),
    labels: parseLabels(flags.labels ?? ''),
    timeoutMs: flags.timeout === undefined ? undefined : timeoutFlagMs(flags.timeout),
    flags,
  };
  return { ...asked, trust: await hubTrustOf(addresses, network, flags) };
}

/**
 * Registers a member with a hub: prints what installs the agent, or is the agent.
 * @throws RollcallError USAGE; the first check that fails; what the hub refuses
 */
export async function register(hub: string, flags: RegisterFlags): Promise<void> {
  const sinceMs = performance.now();
  const wanted = await readFlags(hub, flags);
  if (flags.manifest) {
    printManifest(wanted);
    return;
  }
  const access = await memberAccess(flags);
  const through = throughProxy(wanted.addresses, wanted.network);
  say(`hub: ${wanted.addresses.map(formatHubAddress).join(', ')}${through}`);
  say(`member: ${access.server} (context "${access.contextName}", user "${access.userName}")`);
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-cli',
    userAgent: `rollcall/${rollcallVersion}`,
  });
  try {
    await registerHere(client, wanted, sinceMs);
  } finally {
    client.close();
  }
}

function printManifest({ addresses, trust, token, flags }: Registration): void {
  if (token === undefined)
    throw new RollcallError('USAGE', 'give --token, or ROLLCALL_TOKEN: the agent asks with it');
  const values = agentValuesOf({ ...flags, token, hub: addresses.map(formatHubAddress) }, trust);
  printResult(renderFolder('agent', values));
  say(
    'apply it in the member: kubectl apply -f -   (it holds the token: keep it no longer than you need it)',
  );
}

async function registerHere(client: KubeClient, wanted: Registration, sinceMs: number): Promise<void> {
  const { addresses, network, trust, token, flags } = wanted;
  let hubId: string | undefined;
  const [form, member, hub] = await Promise.all([
    runCheck('token', () => {
      if (token === undefined) return 'none given: it takes the keys of an earlier registration';
      ({ hubId } = parseRegistrationToken(token));
      return `of hub ${hubId}`;
    }),
    checkMember(client, flags.clientId),
    checkHub(addresses, trust, network),
  ]);
  reportChecks([form, ...member.outcomes, ...hub]);
  const { clusterId = '' } = member;

  const directory = stateDirectoryOf({ given: flags.stateDir, hubId, clusterId });
  const store = directoryKeyStore(directory);
  const kept = await store.load();
  const known = kept?.member;
  if (known) {
    say(`[preflight] registered already as "${known.clusterName}"; going on with the keys in ${store.place}`);
  }
  // A client id makes it another cluster than the hub's own, one that a person predefined for example.
  const mayBeOwn = !known && flags.clientId === undefined;
  const own = mayBeOwn && hubId !== undefined ? await nameAsHubsOwn(client, { hubId, clusterId }) : undefined;
  if (own !== undefined) {
    printResult(
      `the member is the hub's own cluster and is registered already, as "${own}"; there is nothing to do`,
    );
    return;
  }
  const clusterName = flags.clusterName ?? known?.clusterName;
  reportChecks([await checkName(client.access, { given: clusterName, clusterId })]);
  if (flags.dryRun) {
    printResult(
      'nothing that can be seen from here is in the way (dry run); whether name and id are free, and the token is good, the hub says when the agent asks',
    );
    return;
  }
  await runInForeground(
    {
      hub: addresses.map(formatHubAddress),
      network,
      // Only the first contact is trusted: a second one is compared with it.
      trust: flags.insecureTrustFirstCa && kept?.hubCaPem ? { caPem: kept.hubCaPem } : trust,
      token,
      member: client.access,
      store,
      clusterName,
      clientId: flags.clientId,
      labels: wanted.labels,
      ...(flags.clusterType === undefined ? {} : { clusterType: flags.clusterType }),
      memberAccess: memberAccessOf(flags, {}),
      version: rollcallVersion,
      uninstall: forgetDirectory(directory),
      hubAccess: directoryHubAccess(directory),
      rotationRequest: directoryRotationRequest(directory),
    },
    { timeoutMs: wanted.timeoutMs, sinceMs },
  );
}
