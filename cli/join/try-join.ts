import { RollcallError } from '@rollcall/shared/errors';
import { clusterRecord, nameRecord, predefinedObstacle } from '@rollcall/shared/events';
import { isForbidden, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { labels } from '@rollcall/shared/resources';
import { openBus, type OpenBus } from '../events/open-bus.ts';
import type { HubFlags } from '../hub-access.ts';
import { withProgress } from '../terminal/progress.ts';
import { askServices, type ServiceReply } from '../status/ask-services.ts';
import type { Joining } from './hub-objects.ts';

const takenCodes = {
  IdTaken: 'ID_TAKEN',
  IdMismatch: 'ID_TAKEN',
  NameTaken: 'NAME_TAKEN',
  NameReserved: 'CLUSTER_NAME_RESERVED',
} as const;

/** What the history knows, and Kubernetes need not show: who has the id, and who the name. */
async function askHistory({ log }: OpenBus, { name, clusterId }: Joining): Promise<void> {
  const cluster = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
  const holder = nameRecord(await log.read({ kind: 'name', id: name }));
  const obstacle = predefinedObstacle({ name, spec: { clusterId }, cluster, holder });
  if (obstacle) throw new RollcallError(takenCodes[obstacle.reason], obstacle.message);
}

const toldBy = (answers: readonly ServiceReply[], service: string, setting: string): string | undefined =>
  answers.find(({ name, told }) => name === service && told?.[setting] !== undefined)?.told?.[setting];

/** @returns whether it is known which names the hub reserves */
function checkReserved(answers: readonly ServiceReply[], name: string): boolean {
  const lists = ['registrar', 'rbac-provisioner'].map((service) => toldBy(answers, service, 'reservedNames'));
  if (lists.some((list) => list?.split(',').includes(name)))
    throw new RollcallError('CLUSTER_NAME_RESERVED', `the name "${name}" is reserved on this hub`);
  return lists.every((list) => list !== undefined);
}

/** @returns whether it is known that the cluster can have its namespace */
async function checkNamespace(client: KubeClient, { name, clusterId }: Joining): Promise<boolean> {
  try {
    const found = await client.get(resources.namespaces, { name });
    if (!found || found.metadata.labels?.[labels.clusterId] === clusterId) return true;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return false;
  }
  const message = `the namespace "${name}" exists and was not made for this cluster`;
  throw new RollcallError('NAMESPACE_TAKEN', message);
}

/**
 * What the hub would say of a cluster that it was not told of yet, beside what its API server says: names that it reserves, who has
 * the id or the name without being shown, and its namespace.
 * @returns what could not be asked, in words
 * @throws RollcallError CLUSTER_NAME_RESERVED, NAMESPACE_TAKEN, ID_TAKEN, NAME_TAKEN; KubeApiError
 */
export async function tryJoin(
  client: KubeClient,
  joining: Joining,
  flags: HubFlags,
): Promise<readonly string[]> {
  const unknown: string[] = [];
  let answers: readonly ServiceReply[] = [];
  const bus = await openBus(flags).catch(() => undefined);
  try {
    if (bus) answers = await withProgress('asking the services', askServices(bus.nc));
    if (!checkReserved(answers, joining.name)) unknown.push('which names this hub reserves');
    const seen = bus && (await isHistoryRead(bus, joining));
    if (!seen) unknown.push('whether a cluster that is not shown has the member or the name');
  } finally {
    await bus?.nc.close();
  }
  // There is none where only those have one who were given access in it.
  const isNeeded = toldBy(answers, 'rbac-provisioner', 'namespaces') !== 'access';
  if (isNeeded && !(await checkNamespace(client, joining))) unknown.push('whether its namespace is free');
  return unknown;
}

/** Who may watch live need not be able to read it so. */
async function isHistoryRead(bus: OpenBus, joining: Joining): Promise<boolean> {
  try {
    await withProgress('reading the history', askHistory(bus, joining));
    return true;
  } catch (error) {
    const isAnswer = error instanceof RollcallError && Object.values<string>(takenCodes).includes(error.code);
    if (isAnswer) throw error;
    return false;
  }
}
