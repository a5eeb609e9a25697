import { RollcallError } from '@rollcall/shared/errors';
import { shellWord } from '@rollcall/shared/hub';
import {
  createKubeClient,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  loadKubeAccess,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { labels, type ManagedCluster, type ManagedClusterSet } from '@rollcall/shared/resources';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { type DocumentFormat, documentText } from '../terminal/document-text.ts';
import { exitCodes } from '../exit-code.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { type ForeignSystem, readForeign } from './foreign-cluster.ts';
import { readForeignSet } from './foreign-set.ts';
import {
  type HubNow,
  type ImportPlan,
  planImport,
  type PlannedCluster,
  type PlannedSet,
  type PredefinedObject,
} from './import-plan.ts';
import { clusternet } from './read-clusternet.ts';
import { fleet } from './read-fleet.ts';
import { type ForeignObjects, foreignObjectsIn, foreignObjectsOn } from './read-foreign-objects.ts';
import { karmada } from './read-karmada.ts';
import { ocm } from './read-ocm.ts';

const systems: Readonly<Record<'clusternet' | 'fleet' | 'karmada' | 'ocm', ForeignSystem>> = {
  clusternet,
  fleet,
  karmada,
  ocm,
};

export interface ImportFlags extends HubFlags {
  readonly from: keyof typeof systems;
  readonly filename?: readonly string[];
  readonly fromKubeconfig?: string;
  readonly fromContext?: string;
  readonly apply?: boolean;
  readonly output: 'text' | DocumentFormat;
}

const { managedClusters, managedClusterSets } = resources;

/** @throws RollcallError USAGE; what the readers throw */
async function readObjects(flags: ImportFlags, system: ForeignSystem): Promise<ForeignObjects> {
  const { filename = [], fromKubeconfig: path, fromContext: context } = flags;
  const isHubNamed = path !== undefined || context !== undefined;
  if (filename.length > 0 === isHubNamed) {
    const how = isHubNamed ? 'give either files or a hub' : 'say where its clusters are';
    throw new RollcallError('USAGE', `${how}: -f FILE, or --from-kubeconfig and --from-context`);
  }
  if (!isHubNamed) return foreignObjectsIn(filename, system);
  const userAgent = `rollcall/${rollcallVersion}`;
  const client = createKubeClient(loadKubeAccess({ path, context }), {
    fieldManager: 'rollcall-cli',
    userAgent,
  });
  try {
    say(`${system.title}: ${client.access.server} (context "${client.access.contextName}"), only read`);
    return await foreignObjectsOn(client, system);
  } finally {
    client.close();
  }
}

async function readHub(client: KubeClient): Promise<HubNow> {
  const [clusters, sets] = await Promise.all([
    client.list<ManagedCluster>(managedClusters),
    client.list<ManagedClusterSet>(managedClusterSets),
  ]);
  return { clusters, sets };
}

/** What a refusal by the API server is; its own trouble ends the command. */
const refusals = new Set([403, 409, 422]);

/** @returns why the hub does not take it, or undefined */
async function make(client: KubeClient, object: KubeObject, dryRun: boolean): Promise<string | undefined> {
  const resource: Resource = object.kind === managedClusterSets.kind ? managedClusterSets : managedClusters;
  try {
    await client.create(resource, object, { strict: true, dryRun });
    return undefined;
  } catch (error) {
    if (error instanceof KubeApiError && refusals.has(error.status)) return printable(error.message);
    throw error;
  }
}

function describe({ metadata, spec = {} }: PredefinedObject): string {
  const { [labels.clusterSet]: set, ...others } = metadata.labels ?? {};
  const given = Object.entries(others).map(([key, value]) => `${key}=${value}`);
  const { clusterId, clientId } = spec;
  return [
    clusterId === undefined ? `client id "${clientId}"` : `cluster id ${clusterId}`,
    ...(given.length === 0 ? [] : [`labels ${given.join(',')}`]),
    ...(set === undefined ? [] : [`set "${set}"`]),
  ].join(', ');
}

type Planned = PlannedCluster | PlannedSet;

/** What came of the plan. */
interface Carried {
  /** Those that were made, or would be. */
  readonly clusters: readonly PredefinedObject[];
  readonly sets: number;
  readonly refused: number;
}

/** Makes what is planned, one after the other, sets before who is in them. */
async function carryOut(client: KubeClient, plan: ImportPlan, dryRun: boolean): Promise<Carried> {
  const is = dryRun ? 'would be made' : 'is made';
  const clusters: PredefinedObject[] = [];
  let [sets, refused] = [0, 0];
  /** @returns whether it was not there, and is now */
  async function carry(planned: Planned, what: string, details: string): Promise<boolean> {
    const { source, name, action, notes } = planned;
    const why = await outcomeOf(client, planned, dryRun);
    if (why !== undefined) {
      refused++;
      say(printable(`${source} cannot be taken over: ${why}`));
    } else
      printResult(printable(`${what} "${name}" ${action === 'make' ? is + details : 'is there already'}`));
    for (const note of notes) say(printable(`  ${name}: ${note}`));
    return why === undefined && action === 'make';
  }
  for (const set of plan.sets) if (await carry(set, 'set', '')) sets++;
  for (const cluster of plan.clusters) {
    if (cluster.action !== 'make') await carry(cluster, 'cluster', '');
    else if (await carry(cluster, 'cluster', `: ${describe(cluster.object)}`)) clusters.push(cluster.object);
  }
  return { clusters, sets, refused };
}

async function outcomeOf(client: KubeClient, planned: Planned, dryRun: boolean): Promise<string | undefined> {
  if (planned.action === 'refuse') return planned.why;
  return planned.action === 'make' ? make(client, planned.object, dryRun) : undefined;
}

const isRefused = ({ action }: Planned) => action === 'refuse';

/** As a list that kubectl applies. */
function printManifests({ sets, clusters }: ImportPlan, format: DocumentFormat): void {
  const all: readonly Planned[] = [...sets, ...clusters];
  const items = all.flatMap((planned) => (planned.action === 'make' ? [planned.object] : []));
  printResult(documentText({ apiVersion: 'v1', kind: 'List', items }, format));
  for (const planned of all) {
    if (planned.action === 'refuse') say(printable(`${planned.source} cannot be taken over: ${planned.why}`));
    for (const note of planned.notes) say(printable(`  ${planned.name}: ${note}`));
  }
}

function sayNext({ clusters, sets }: Carried, flags: ImportFlags): void {
  if (!flags.apply && clusters.length + sets > 0) say('nothing was changed; --apply makes them');
  if (clusters.length === 0) return;
  say(
    'nobody is let in by this; for each cluster make a token that names it, and run its command at the member:',
  );
  for (const { metadata, spec } of clusters.slice(0, 3)) {
    const { clientId } = spec ?? {};
    const id = clientId === undefined ? '' : ` --client-id ${shellWord(clientId)}`;
    const set = metadata.labels?.[labels.clusterSet];
    // A policy lets it into a set only where its token gives that.
    const inSet = set === undefined ? '' : ` --cluster-set ${shellWord(set)}`;
    say(`  rollcall token create --cluster-name ${metadata.name}${id}${inSet} --print-register-command`);
  }
  if (clusters.length > 3) say(`  … and so on for the other ${clusters.length - 3}`);
}

/**
 * Reads the cluster objects of another system, and its sets, and makes predefined clusters of them: a dry run unless told otherwise. What is
 * there already stays as it is, so it can be run again.
 * @throws RollcallError USAGE, NOT_FOUND; KubeApiError
 */
export async function importClusters(flags: ImportFlags): Promise<void> {
  if (flags.apply && flags.output !== 'text')
    throw new RollcallError(
      'USAGE',
      `-o ${flags.output} prints what \`kubectl apply\` takes and makes nothing; give either that or --apply`,
    );
  const system = systems[flags.from];
  const { objects, sets, others } = await readObjects(flags, system);
  if (others.length > 0) say(printable(`not looked at: ${others.join(', ')}`));
  const client = openHub(flags);
  try {
    sayHub(client);
    const foreign = objects.map((object) => readForeign(system, object));
    const { sets: ofSets } = system;
    const foreignSets = ofSets ? sets.map((set) => readForeignSet(system, ofSets, set)) : [];
    const plan = planImport(foreign, await readHub(client), foreignSets);
    if (flags.output !== 'text') {
      printManifests(plan, flags.output);
      if ([...plan.sets, ...plan.clusters].some(isRefused)) process.exitCode = exitCodes.failed;
      return;
    }
    const carried = await carryOut(client, plan, !flags.apply);
    const there = plan.clusters.filter(({ action }) => action === 'leave').length;
    say(
      `${objects.length} of ${system.title}, ${there} there already, ${carried.refused} cannot be taken over`,
    );
    sayNext(carried, flags);
    if (carried.refused > 0) process.exitCode = exitCodes.failed;
  } finally {
    client.close();
  }
}
