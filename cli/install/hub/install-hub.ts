import { formatHubAddress } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { stringify } from 'yaml';
import { addressesOf } from '../../agent/joining-flags.ts';
import { type DocumentFormat, documentText } from '../../terminal/document-text.ts';
import { timeoutFlagMs } from '../../duration-flag.ts';
import { printResult, say } from '../../terminal/output.ts';
import { openHubFiles } from '../../trust/hub-files.ts';
import { createSets, attributionIsServed } from '../../up/hub-manifests.ts';
import { moveMemberSecrets, sayMoved } from '../../up/state/upgrade-member-secrets.ts';
import { restoreInPodsUnderWay } from '../../up/state/half-restored.ts';
import { lockState } from '../../up/state/state-lock.ts';
import { serverCountFlag, serverCountOf } from '../../up/state/nats-servers-of.ts';
import { isPartOfHub } from '../files-secret.ts';
import { countedObjects, type ObjectNote } from '../counted-objects.ts';
import { applyInTurn, areServers } from './apply-in-turn.ts';
import { type Addresses, applyKeys } from './apply-keys.ts';
import { readFrontProxy, refuseWithoutFrontProxy } from './front-proxy.ts';
import { hasServiceTokens, hubKubeconfigs, refuseForgottenPlace } from './hub-kubeconfigs.ts';
import { hubObjects, hubNamespaces } from './hub-objects.ts';
import { type HubPlaces, type HubPlacesFlags, openHubPlaces } from './hub-places.ts';
import { refuseOtherKeys } from './hub-there.ts';
import { hubContradictions, hubRules, type HubValues, hubValuesSchema } from './hub-values.ts';
import { noteMemberLife } from './note-credential-life.ts';
import { removeLeftOut } from './remove-left-out.ts';
import { refuseStorageClass } from './storage-class.ts';
import { tryInstall } from './try-install.ts';
import { untilAllRun } from './until-all-run.ts';
import { findInstalled, refuseHelm, sayOtherLevel, sayVersions } from '../find-installed.ts';
import { otherOwners } from '../short-names.ts';
import { checkValues, readValuesFile, refusals } from '../values.ts';

export interface InstallHubFlags extends HubPlacesFlags {
  readonly values?: readonly string[];
  readonly advertise?: readonly string[];
  readonly servers?: string;
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
  const objects = [...hubNamespaces(values.parts), ...hubObjects(values)];
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const documents = () => objects.map((object) => documentText(object, 'yaml')).join('\n---\n');
  printResult(format === 'yaml' ? documents() : documentText(list, 'json'));
}

/**
 * Looks before anything is done, and says what it sees.
 * @throws RollcallError INSTALLED_BY_HELM, NAMESPACE_TERMINATING, HUB_KEYS_OTHER, CONFIG_INVALID, USAGE
 */
async function preflight(
  places: HubPlaces,
  flags: InstallHubFlags,
  { nats, services, image }: HubValues,
): Promise<Addresses> {
  const { hub: client, workloads } = places;
  await refuseForgottenPlace(places);
  const installed = await findInstalled(workloads, { name: 'rollcall-registrar', namespace });
  sayOtherLevel(installed, namespace);
  if (!flags.onlyKeys) {
    refuseHelm(installed, namespace);
    await refuseStorageClass(workloads, nats.storageClassName);
  }
  sayVersions(installed, image);
  if (!flags.onlyKeys && services['member-gateway'].replicas > 0) {
    const frontProxy = await readFrontProxy(client);
    if (frontProxy) refuseWithoutFrontProxy(frontProxy);
  }
  for (const line of await otherOwners(client)) say(`[preflight] short names: ${line}`);
  const known = await refuseOtherKeys(places, flags.keys);
  const advertised =
    flags.advertise === undefined ? known : addressesOf(flags.advertise).map(formatHubAddress);
  if (advertised.length > 0) return { known, advertised };
  throw new RollcallError('USAGE', 'give --advertise HOST:PORT: the address that agents use');
}

/**
 * Some values of the chart are flags here; others than what will be installed are not passed over, nor are those that contradict
 * each other.
 * @throws RollcallError CONFIG_INVALID
 */
function refuseOtherValues(
  given: HubValues,
  { places, flags, advertised }: { places: HubPlaces; flags: InstallHubFlags; advertised: readonly string[] },
): void {
  const { hub, parts } = given;
  const servers = flags.servers === undefined ? serverCountOf(flags.keys) : serverCountFlag(flags.servers);
  const websocket = addressesOf(advertised).some(({ isWebSocket }) => isWebSocket);
  const partsThere = places.areApart ? { kubernetes: true, workloads: false } : parts;
  const asInstalled = { ...given, hub: { ...hub, servers, websocket }, parts: partsThere };
  const contradicting = refusals(asInstalled, hubContradictions);
  if (contradicting.length > 0)
    throw new RollcallError('CONFIG_INVALID', `the values are not valid\n${contradicting.join('\n')}`);
  // With the keys alone the chart says the rest.
  if (flags.onlyKeys) return;
  const wrong = [
    ...(hub.servers > servers ? [`hub.servers is ${hub.servers}: give --servers ${hub.servers}`] : []),
    ...(hub.addresses !== '' && hub.addresses !== advertised.join(',')
      ? [`hub.addresses is "${hub.addresses}": give --advertise for each of them`]
      : []),
    ...(places.areApart || (parts.kubernetes && parts.workloads)
      ? []
      : ['parts leaves something out: give --workloads-context or --workloads-kubeconfig']),
  ];
  if (wrong.length > 0)
    throw new RollcallError(
      'CONFIG_INVALID',
      `the values say what flags have to say here\n${wrong.join('\n')}`,
    );
}

/** For services that do not run where the hub's API server is. */
async function applyKubeconfigs(places: HubPlaces, timeoutMs: number): Promise<void> {
  const all = await hubKubeconfigs(places.hub, timeoutMs);
  const secrets: KubeObject[] = [];
  for (const secret of all) {
    const { name = '' } = secret.metadata;
    const there = await places.workloads.get(resources.secrets, { name, namespace });
    if (!there || isPartOfHub(there)) secrets.push(secret);
    else say(`[keys] Secret ${name} is somebody's own, and stays as it is`);
  }
  await applyManifests(places.workloads, secrets);
  say(`[keys] ${secrets.length} kubeconfigs of the hub in namespace ${namespace} of its pods`);
}

/** The tokens are those of accounts that belong to a release. */
async function applyKubeconfigsOfRelease(places: HubPlaces, timeoutMs: number): Promise<void> {
  if (await hasServiceTokens(places.hub)) return applyKubeconfigs(places, timeoutMs);
  say(
    '[keys] no kubeconfigs yet: install the chart on the hub (--set parts.workloads=false), then run this again',
  );
}

const isNews = ({ outcome }: ObjectNote): boolean => outcome !== 'unchanged';

async function apply(
  places: HubPlaces,
  values: HubValues,
  { keys, wait, timeoutMs }: { keys: string; wait: boolean; timeoutMs: number },
): Promise<void> {
  const isRestoring = restoreInPodsUnderWay(keys) !== undefined;
  for (const { client, parts } of places.each) {
    const objects = hubObjects({ ...values, parts });
    if (!parts.kubernetes) await applyKubeconfigs(places, timeoutMs);
    const applied = await applyInTurn(client, objects, {
      timeoutMs: wait && !isRestoring ? timeoutMs : undefined,
    });
    for (const line of countedObjects(applied.filter(isNews))) say(`[install] ${line}`);
    await removeLeftOut(client, { ...values, parts });
    if (parts.kubernetes)
      for (const said of sayMoved(await moveMemberSecrets(client))) say(`[install] ${said}`);
    const waitsFor = objects.filter((object) => !isRestoring || areServers(object));
    if (wait) await untilAllRun(client, waitsFor, timeoutMs);
  }
  noteMemberLife(openHubFiles(keys), values, Date.now());
  await createSets(places.hub);
  if (isRestoring) {
    printResult(
      'the servers are installed; the services wait for the end of `rollcall restore`: run it again',
    );
    return;
  }
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
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const places = openHubPlaces(flags);
  try {
    const addresses = await preflight(places, flags, given);
    refuseOtherValues(given, { places, flags, advertised: addresses.advertised });
    if (flags.dryRun) return await tryInstall(places, flags, { given, addresses });
    const unlock = lockState(flags.keys);
    const applying = applyKeys(places, flags, { ...addresses, nats: given.nats });
    const hub = await applying.finally(unlock);
    const attribution = await attributionIsServed(places.hub);
    if (!flags.onlyKeys) {
      await apply(places, { ...given, hub, attribution }, { keys: flags.keys, wait: flags.wait, timeoutMs });
      return;
    }
    if (places.areApart) await applyKubeconfigsOfRelease(places, timeoutMs);
    printResult(stringify({ hub, attribution }, { lineWidth: 0 }).trimEnd());
  } finally {
    places.close();
  }
}
