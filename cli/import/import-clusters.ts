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
import { type DocumentFormat, documentText } from '../document-text.ts';
import { exitCodes } from '../exit-code.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';
import { printable } from '../printable.ts';
import { type ForeignSystem, readForeign } from './foreign-cluster.ts';
import {
  type HubNow,
  type ImportPlan,
  planImport,
  type PlannedCluster,
  type PredefinedObject,
} from './import-plan.ts';
import { clusternet } from './read-clusternet.ts';
import { fleet } from './read-fleet.ts';
import { type ForeignObjects, foreignObjectsIn, foreignObjectsOn } from './read-foreign-objects.ts';
import { karmada } from './read-karmada.ts';
import { ocm } from './read-ocm.ts';

const systems = { clusternet, fleet, karmada, ocm } as const satisfies Record<string, ForeignSystem>;

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

/** Makes what is planned, one after the other. @returns how many clusters the hub does not take */
async function carryOut(client: KubeClient, plan: ImportPlan, dryRun: boolean): Promise<number> {
  const is = dryRun ? 'would be made' : 'is made';
  for (const set of plan.sets) {
    const why = await make(client, set, dryRun);
    if (why === undefined) printResult(`set "${set.metadata.name}" ${is}`);
    else say(`set "${set.metadata.name}" is not made: ${why}`);
  }
  let refused = 0;
  for (const cluster of plan.clusters) {
    const { source, name, action, notes } = cluster;
    const why = await outcomeOf(client, cluster, dryRun);
    if (why === undefined && action === 'make')
      printResult(printable(`cluster "${name}" ${is}: ${describe(cluster.object)}`));
    else if (why === undefined) printResult(printable(`cluster "${name}" is there already`));
    else {
      refused++;
      say(printable(`${source} cannot be taken over: ${why}`));
    }
    for (const note of notes) say(printable(`  ${name}: ${note}`));
  }
  return refused;
}

async function outcomeOf(
  client: KubeClient,
  cluster: PlannedCluster,
  dryRun: boolean,
): Promise<string | undefined> {
  if (cluster.action === 'refuse') return cluster.why;
  return cluster.action === 'make' ? make(client, cluster.object, dryRun) : undefined;
}

/** As a list that kubectl applies. */
function printManifests({ sets, clusters }: ImportPlan, format: DocumentFormat): void {
  const made = clusters.flatMap((cluster) => (cluster.action === 'make' ? [cluster.object] : []));
  printResult(documentText({ apiVersion: 'v1', kind: 'List', items: [...sets, ...made] }, format));
  for (const cluster of clusters) {
    if (cluster.action === 'refuse') say(printable(`${cluster.source} cannot be taken over: ${cluster.why}`));
    for (const note of cluster.notes) say(printable(`  ${cluster.name}: ${note}`));
  }
}

function sayNext(plan: ImportPlan, flags: ImportFlags): void {
  const made = plan.clusters.flatMap((cluster) => (cluster.action === 'make' ? [cluster] : []));
  if (made.length === 0) return;
  if (!flags.apply) say('nothing was changed; --apply makes them');
  say(
    'nobody is let in by this; for each cluster make a token that names it, and run its command at the member:',
  );
  for (const { name, object } of made.slice(0, 3)) {
    const { clientId } = object.spec ?? {};
    const id = clientId === undefined ? '' : ` --client-id ${shellWord(clientId)}`;
    say(`  rollcall token create --cluster-name ${name}${id} --print-register-command`);
  }
  if (made.length > 3) say(`  … and so on for the other ${made.length - 3}`);
}

/**
 * Reads the cluster objects of another system and makes predefined clusters of them: a dry run unless told otherwise. What is
 * there already stays as it is, so it can be run again.
 * @throws RollcallError USAGE, NOT_FOUND; KubeApiError
 */
export async function importClusters(flags: ImportFlags): Promise<void> {
  const system = systems[flags.from];
  const { objects, others } = await readObjects(flags, system);
  if (others.length > 0) say(printable(`not looked at: ${others.join(', ')}`));
  const client = openHub(flags);
  try {
    sayHub(client);
    const foreign = objects.map((object) => readForeign(system, object));
    const plan = planImport(foreign, await readHub(client));
    if (flags.output !== 'text') {
      printManifests(plan, flags.output);
      if (plan.clusters.some(({ action }) => action === 'refuse')) process.exitCode = exitCodes.failed;
      return;
    }
    const refused = await carryOut(client, plan, !flags.apply);
    const there = plan.clusters.filter(({ action }) => action === 'leave').length;
    say(`${objects.length} of ${system.title}, ${there} there already, ${refused} cannot be taken over`);
    sayNext(plan, flags);
    if (refused > 0) process.exitCode = exitCodes.failed;
  } finally {
    client.close();
  }
}
