import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { clusterRecord, type ClusterRecord, foldRecord, type UnprovenWord } from '@rollcall/shared/events';
import {
  type KubeClient,
  type KubeObject,
  objectKey,
  type Resource,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import {
  type ClusterRegistrationRequest,
  confirmations,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import { clusterIdOfObject, type ClusterObject, decideClusterChange } from './cluster-change.ts';
import type { DeclaredKind } from '../declarations/object-controller.ts';
import { type ConfirmationObject, confirmationWords } from '../bulk/follow-confirmations.ts';
import type { Heartbeat } from '../decision/decision-section.ts';
import { deletedWord, objectName, versionWords, type Words } from '../admission/object-words.ts';
import {
  authorWord,
  isBornAfter,
  newClusterWords,
  requestWords,
  withoutWords,
} from './unattributed-words.ts';

export interface CollectParts {
  readonly log: Pick<EventLog, 'read' | 'readAll'>;
  readonly client: Pick<KubeClient, 'list'>;
  readonly kinds: readonly DeclaredKind<KubeObject>[];
  readonly heartbeat: Heartbeat;
  readonly leaveWaitMs: number;
  nowMs(): number;
}

/** Side by side: with ten thousand clusters one after the other would take half a minute. */
const atOnce = 16;

async function eachOf<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/**
 * Everything that stands in Kubernetes and is not in force: had it been written while the admission policies did not hold, nobody
 * would have checked by whom.
 * @param bornAfterMs - but for tokens, policies and sets that were made since then and never changed
 */
export async function collectUnproven(
  parts: CollectParts,
  bornAfterMs = Number.POSITIVE_INFINITY,
): Promise<UnprovenWord[]> {
  const found: UnprovenWord[] = [];
  const add: Add = (resource, key, words) =>
    void found.push(...words.map((word) => ({ object: objectName(resource.plural, key), word })));
  await collectDecisions(parts, add);
  await collectClusters(parts, add);
  const mayCount = (object: KubeObject) => isBornAfter(object, bornAfterMs);
  for (const kind of parts.kinds) await collectDeclared(parts, { ...kind, mayCount }, add);
  const { client } = parts;
  const { namespace, name } = confirmations;
  const only = { namespace, fieldSelector: `metadata.name=${name}` };
  for (const confirmation of await client.list<ConfirmationObject>(resources.configMaps, only))
    add(resources.configMaps, objectKey(confirmation.metadata), confirmationWords(confirmation));
  return found;
}

type Add = (resource: Resource, key: string, words: Words) => void;

/**
 * Where only a newer version knows what the approver said last, and of an object that names no cluster yet, nothing is known to be in
 * force: all that stands there is listed.
 */
async function readKnown(log: CollectParts['log'], id: string | undefined): Promise<ClusterRecord> {
  const aggregate = { kind: 'cluster', id: id ?? '' } as const;
  if (id === undefined) return clusterRecord(foldRecord(aggregate, []));
  try {
    return clusterRecord(await log.read(aggregate, { unknownAsGarbage: 'registrar' }));
  } catch (error) {
    if (!(error instanceof RollcallError) || error.code !== 'EVENT_VERSION_UNKNOWN') throw error;
    return clusterRecord(foldRecord(aggregate, []));
  }
}

async function collectDecisions({ log, client }: CollectParts, add: Add): Promise<void> {
  const resource = resources.clusterRegistrationRequests;
  const decided = (await client.list<ClusterRegistrationRequest>(resource)).filter(
    (object) => requestWords(object).length > 0,
  );
  await eachOf(decided, async (object) => {
    const { name } = object.metadata;
    const { decision } = await readKnown(log, name);
    const actedOn = `decision:${decision?.actedOn}`;
    add(
      resource,
      name,
      requestWords(object).filter((word) => word !== actedOn),
    );
  });
}

async function collectClusters(parts: CollectParts, add: Add): Promise<void> {
  const { log, client, heartbeat, leaveWaitMs, nowMs } = parts;
  const resource = resources.managedClusters;
  await eachOf(await client.list<ManagedCluster>(resource), async (object: ClusterObject) => {
    const record = await readKnown(log, clusterIdOfObject(object));
    const words = newClusterWords(object, record);
    const rest = withoutWords(object, new Set(words), record.decision);
    const author = authorWord(object);
    const settings = { heartbeat, leaveWaitMs, nowMs: nowMs() };
    const isChanged =
      record.decision === undefined || decideClusterChange({ record, object: rest, ...settings }).length > 0;
    add(resource, object.metadata.name, [
      ...words,
      ...(author !== undefined && (isChanged || words.length > 0) ? [author] : []),
    ]);
  });
}

async function collectDeclared(
  { log, client }: CollectParts,
  of: DeclaredKind<KubeObject> & { mayCount(object: KubeObject): boolean },
  add: Add,
): Promise<void> {
  const { kind, resource, idOf, isInForce, loosens } = of;
  const objects = await client.list<KubeObject>(resource);
  const there = new Set<string>();
  await eachOf(objects, async (object: StoredObject) => {
    const id = idOf(object);
    if (id === undefined) return;
    there.add(id);
    if (of.mayCount(object)) return;
    const record = await log.read({ kind, id }, { unknownAsGarbage: true });
    if (!isInForce(record, object)) add(resource, objectKey(object.metadata), versionWords(object));
  });
  if (!loosens) return;
  const known = new Set(
    (await log.readAll(`${kind}.*.declared`, { onSkip: () => undefined })).map(({ id }) => id),
  );
  await eachOf(
    [...known].filter((id) => !there.has(id)),
    async (id) => {
      const record = await log.read({ kind, id }, { unknownAsGarbage: true });
      if (loosens(record, undefined)) add(resource, id, [deletedWord]);
    },
  );
}
