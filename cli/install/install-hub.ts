import { formatHubAddress } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import {
  applyManifests,
  createKubeClient,
  type KubeClient,
  type KubeObject,
  loadKubeAccess,
  resources,
} from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { stringify } from 'yaml';
import { addressesOf } from '../agent/joining-flags.ts';
import { type DocumentFormat, documentText } from '../document-text.ts';
import { durationFlagMs } from '../duration-flag.ts';
import { type HubFlags, sayHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';
import { createSets, stampIsServed } from '../up/hub-manifests.ts';
import { shown } from './deploy-templates.ts';
import { hubKeys } from './hub-keys.ts';
import { hubObjects, hubNamespaces } from './hub-objects.ts';
import { refuseOtherKeys, refuseWithoutKeys } from './hub-there.ts';
import { hubRules, type HubValues, hubValuesSchema } from './hub-values.ts';
import { findInstalled, refuseHelm } from './installed.ts';
import { otherOwners } from './short-names.ts';
import { untilAvailable } from './until-available.ts';
import { checkValues, readValuesFile } from './values.ts';
import { statefulSets } from './workloads.ts';

export interface InstallHubFlags extends HubFlags {
  readonly values?: readonly string[];
  readonly advertise?: readonly string[];
  readonly keys: string;
  readonly onlyKeys?: boolean;
  readonly image?: string;
  readonly output: 'text' | DocumentFormat;
  readonly wait: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

const namespace = 'rollcall-system';

/** @throws RollcallError CONFIG_INVALID */
function valuesOf(flags: InstallHubFlags, rules: typeof hubRules): HubValues {
  const said = flags.image === undefined ? {} : { image: flags.image };
  return checkValues([...(flags.values ?? []).map(readValuesFile), said], hubValuesSchema, rules);
}

function printObjects(values: HubValues, format: DocumentFormat): void {
  const objects = [...hubNamespaces(), ...hubObjects(values)];
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const documents = () => objects.map((object) => documentText(object, 'yaml')).join('\n---\n');
  printResult(format === 'yaml' ? documents() : documentText(list, 'json'));
}

/**
 * Looks before anything is done, and says what it sees.
 * @returns the addresses for agents: as they are given, else as they are known
 * @throws RollcallError INSTALLED_BY_HELM, NAMESPACE_TERMINATING, HUB_KEYS_OTHER, USAGE
 */
async function preflight(client: KubeClient, flags: InstallHubFlags): Promise<readonly string[]> {
  const installed = await findInstalled(client, { name: 'rollcall-registrar', namespace });
  if (!flags.onlyKeys) refuseHelm(installed, namespace);
  if (installed.version !== undefined) {
    say(`[preflight] installed: version ${installed.version}, to become ${rollcallVersion}`);
  }
  for (const line of await otherOwners(client)) say(`[preflight] short names: ${line}`);
  const known = await refuseWithoutKeys(client, flags.keys);
  const advertised =
    flags.advertise === undefined ? known : addressesOf(flags.advertise).map(formatHubAddress);
  if (addressesOf(advertised).some(({ isWebSocket }) => isWebSocket)) {
    throw new RollcallError('USAGE', 'a hub in a cluster does not listen for WebSocket yet: HOST:PORT');
  }
  if (advertised.length > 0) return advertised;
  throw new RollcallError('USAGE', 'give --advertise HOST:PORT: the address that agents use');
}

/**
 * Makes the keys, or takes those that are there, and applies their Secrets.
 * @returns what is public of them, for the values
 */
async function applyKeys(
  client: KubeClient,
  flags: InstallHubFlags,
  { advertised, nats }: { advertised: readonly string[]; nats: HubValues['nats'] },
): Promise<HubValues['hub']> {
  const hosts = addressesOf(advertised).map(({ host }) => host);
  const { hub, secrets, digest } = hubKeys(flags.keys, { hosts, host: nats.host, port: nats.port });
  await refuseOtherKeys(client, hub.hubId);
  const { hubId: id, caPem: caBundle, caCertHash } = hub;
  // The other namespace belongs to the release, where Helm installs.
  const places = hubNamespaces().filter(({ metadata }) => !flags.onlyKeys || metadata.name === namespace);
  await applyManifests(client, [...places, ...secrets]);
  say(
    `[keys] ${secrets.length} Secrets in namespace ${namespace}; the keys that sign stay in "${flags.keys}": keep it, and keep it away from here`,
  );
  const addresses = advertised.join(',');
  return { id, addresses, caBundle, caCertHash, epoch: String(hub.epoch), keys: digest };
}

async function apply(
  client: KubeClient,
  values: HubValues,
  { wait, timeoutMs }: { wait: boolean; timeoutMs: number },
): Promise<void> {
  const objects = hubObjects(values);
  for (const { kind, name, outcome } of await applyManifests(client, objects)) {
    if (outcome !== 'unchanged') say(`[install] ${kind} ${name}: ${outcome}`);
  }
  if (wait) await untilAllRun(client, objects, timeoutMs);
  await createSets(client);
  printResult(wait ? 'the hub runs' : 'the hub is installed');
  say('next: rollcall token create --print-register-command');
}

/**
 * Installs a hub in a cluster: makes its keys, puts those that run into Secrets, and applies the very objects that the chart has.
 * @throws RollcallError USAGE, CONFIG_INVALID; INSTALLED_BY_HELM, HUB_KEYS_OTHER, NAMESPACE_TERMINATING; what the API server refuses;
 * DEADLINE_EXCEEDED with what a pod says
 */
export async function installHub(flags: InstallHubFlags): Promise<void> {
  if (flags.output !== 'text' && !flags.onlyKeys) {
    printObjects(valuesOf(flags, hubRules), flags.output);
    return;
  }
  const given = valuesOf(flags, []);
  const timeoutMs = durationFlagMs('--timeout', flags.timeout);
  const access = loadKubeAccess({ path: flags.kubeconfig, context: flags.context ?? flags.karmadaContext });
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-install',
    userAgent: `rollcall/${rollcallVersion}`,
  });
  try {
    sayHub(client);
    const advertised = await preflight(client, flags);
    if (flags.dryRun) {
      const objects = [...hubNamespaces(), ...hubObjects(given)];
      for (const object of objects) say(`[install] would be applied: ${shown(object)}`);
      printResult('the hub can be installed (dry run)');
      return;
    }
    const hub = await applyKeys(client, flags, { advertised, nats: given.nats });
    const stamp = await stampIsServed(client);
    if (flags.onlyKeys) printResult(stringify({ hub, stamp }, { lineWidth: 0 }).trimEnd());
    else await apply(client, { ...given, hub, stamp }, { wait: flags.wait, timeoutMs });
  } finally {
    client.close();
  }
}

async function untilAllRun(
  client: KubeClient,
  objects: readonly KubeObject[],
  timeoutMs: number,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  for (const resource of [statefulSets, resources.deployments]) {
    const all = objects.filter(({ kind }) => kind === resource.kind);
    await Promise.all(
      all.map(({ metadata: { name = '' } }) =>
        untilAvailable(client, { resource, name, namespace }, Math.max(1, endMs - performance.now())),
      ),
    );
  }
}
