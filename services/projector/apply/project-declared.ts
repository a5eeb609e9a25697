import type { EventLog } from '@rollcall/shared/bus';
import { policyDeclaration, publicationIdOf, type TokenRecord, tokenRecord } from '@rollcall/shared/events';
import type { KubeObject, StoredObject } from '@rollcall/shared/kubernetes';
import { type ClusterRegistrationToken, labels } from '@rollcall/shared/resources';
import { tokenIdOf } from '@rollcall/shared/trust';
import { desiredPolicy, isPolicyJudged } from '../desired/desired-policy.ts';
import { desiredSet } from '../desired/desired-set.ts';
import {
  desiredToken,
  statusOfCopy,
  statusOfUnknownAuthor,
  tokenEndsInMs,
  tokenGoesInMs,
  tokenUseFields,
} from '../desired/desired-token.ts';
import { statusPatch } from '../desired/difference.ts';
import type { Pass } from '../queue/work-queue.ts';
import type { Priority } from '../queue/priority.ts';
import type { KindView, KubeView } from './kube-view.ts';
import { ownSets } from '../desired/built-in-sets.ts';
import { isSetShownOtherwise, withUnheard } from '../desired/ignored-edits.ts';
import type { UnknownAuthors } from './unknown-authors.ts';
import { createMinimumInterval } from '../queue/minimum-interval.ts';
import type { ObjectWriter } from './write-object.ts';

/** What people declare in Kubernetes; we write only the status. Tokens and policies go by id on the bus, sets by name. */
export interface DeclaredProjection {
  token(id: string): Promise<Pass>;
  policy(id: string): Promise<Pass>;
  set(name: string): Promise<Pass>;
}

export interface DeclaredTools {
  readonly log: Pick<EventLog, 'read'>;
  readonly view: KubeView;
  readonly writer: ObjectWriter;
  readonly nowMs: () => number;
  readonly unknownAuthors: Pick<UnknownAuthors, 'of'>;
  /** Whether clusters that nobody has to see are hidden. */
  readonly isExceptionsOnly: boolean;
  /** How long the object of an expired token is kept. */
  readonly expiredTokenKeptMs: number;
  /** Has a cluster looked at. */
  mark(clusterId: string): void;
}

const shown: Pass = { isShown: true };

const isUseOnly = (fields: readonly string[]) => fields.every((field) => tokenUseFields.includes(field));

/** A use, a count: nobody waits for them, and a burst of joins changes them often (surfaces: "at most one write in 10 s"). */
const slow = { firstAfterMs: 1000, intervalMs: 10_000 };
/** How long the approver may take to declare a policy before its status says so. */
const judgingMs = 2000;
/** While it has not; rarely anything waits that long. */
const unjudgedAgainMs = 5000;

export function createDeclaredProjection(tools: DeclaredTools): DeclaredProjection {
  const { log, view, writer, nowMs, unknownAuthors, expiredTokenKeptMs: keptForMs } = tools;
  const uses = createMinimumInterval(slow);
  const counts = createMinimumInterval(slow);
  /** Looks at all clusters for a set that is not there. */
  const missing = createMinimumInterval({ ...slow, intervalMs: 0 });
  const judging = createMinimumInterval({ firstAfterMs: judgingMs, intervalMs: 0 });

  const read = async (id: string) => tokenRecord(await log.read({ kind: 'token', id }));

  /** Of a token that the hub made, what is known of its key, as soon as that is declared, and of its Secret. */
  async function readToken(id: string): Promise<TokenRecord> {
    const record = await read(id);
    const { publicationId = id } = record.declaration ?? {};
    const { publication } = publicationId === id ? record : await read(publicationId);
    if (publication?.publicKey === undefined) return record;
    const keyId = tokenIdOf(publication.publicKey);
    const ofKey = keyId === id ? record : await read(keyId);
    return ofKey.declaration ? { ...ofKey, publication } : record;
  }

  /** Other objects with the key of this one. */
  function copiesOf({ metadata, spec: { publicKey } }: StoredObject<ClusterRegistrationToken>) {
    if (publicKey === undefined) return [];
    return view.tokens
      .list()
      .filter(({ metadata: { uid }, spec }) => spec.publicKey === publicKey && uid !== metadata.uid);
  }

  async function writeStatus<T extends KubeObject>(
    kind: KindView<T>,
    object: StoredObject<T>,
    write: {
      status: object;
      priority(fields: readonly string[]): Priority;
      waitMs(fields: readonly string[]): number;
      wrote(): void;
    },
  ): Promise<Pass> {
    const difference = statusPatch(object.status as object | undefined, write.status);
    if (!difference) return shown;
    const waitMs = write.waitMs(difference.fields);
    if (waitMs > 0) return { isShown: true, againInMs: waitMs };
    const how = { patch: difference.patch, priority: write.priority(difference.fields) };
    if (!(await writer.patchStatus(kind, object, how))) return { isShown: true, againInMs: 1000 };
    write.wrote();
    return shown;
  }

  /** A token that the approver has not come to yet, or does not take because nobody knows who wrote it. */
  async function undeclared(id: string, now: number): Promise<Pass> {
    const object = view.tokens
      .list()
      .find(({ spec, metadata }) =>
        spec.publicKey === undefined
          ? publicationIdOf(metadata.uid) === id
          : tokenIdOf(spec.publicKey) === id,
      );
    if (!object) {
      judging.forget(id);
      return shown;
    }
    const waitMs = judging.waitMs(id);
    if (waitMs > 0) return { isShown: true, againInMs: waitMs };
    const unknown = await unknownAuthors.of(view.tokens, object);
    if (!unknown) return { isShown: true, againInMs: unjudgedAgainMs };
    return writeStatus(view.tokens, object, {
      status: statusOfUnknownAuthor(unknown, object, now),
      priority: () => 'fact',
      waitMs: () => 0,
      wrote: () => judging.forget(id),
    });
  }

  /** A set that was made or deleted says something of clusters whose label names it. */
  function markThoseIn(name: string): void {
    const set = view.sets.get(name);
    for (const cluster of view.clusters.list()) {
      const { [labels.clusterSet]: inSet, [labels.clusterId]: id } = cluster.metadata.labels ?? {};
      if (inSet === name && id !== undefined && isSetShownOtherwise(cluster, set)) tools.mark(id);
    }
  }

  return {
    async token(id) {
      const record = await readToken(id);
      const { declaration } = record;
      const object = declaration && view.tokens.get(`${declaration.namespace}/${declaration.name}`);
      const now = nowMs();
      if (!declaration) return undeclared(id, now);
      judging.forget(id);
      if (!object) {
        uses.forget(id);
        return shown;
      }
      const status = desiredToken(record, object, now);
      if (!status) return shown;
      for (const copy of copiesOf(object)) {
        const ofCopy = { status: statusOfCopy(declaration, copy), priority: () => 'fact' as const };
        await writeStatus(view.tokens, copy, { ...ofCopy, waitMs: () => 0, wrote: () => undefined });
      }
      const pass = await writeStatus(view.tokens, object, {
        status,
        // The first status, and every end of a token, are shown at once.
        priority: (fields) => (isUseOnly(fields) ? 'count' : 'fact'),
        waitMs: (fields) => (isUseOnly(fields) ? uses.waitMs(id) : 0),
        wrote: () => uses.wrote(id),
      });
      if (pass.againInMs !== undefined) return pass;
      const goesInMs = tokenGoesInMs(record, object, { nowMs: now, keptForMs });
      // Only now: the admission policies let us delete what shows that it has expired, and nothing else of people's.
      if (goesInMs !== undefined && goesInMs <= 0) await writer.remove(view.tokens, object);
      else return { ...pass, againInMs: tokenEndsInMs(record, now) ?? goesInMs };
      return shown;
    },

    async policy(id) {
      const record = await log.read({ kind: 'policy', id });
      const object = view.policies.get(policyDeclaration(record)?.name ?? id);
      if (!object) return shown;
      const now = nowMs();
      const isJudged = isPolicyJudged(record, object);
      const waitMs = isJudged ? 0 : judging.waitMs(id);
      const unknown = isJudged || waitMs > 0 ? undefined : await unknownAuthors.of(view.policies, object);
      const pass = await writeStatus(view.policies, object, {
        status: desiredPolicy(record, object, now, unknown),
        priority: () => 'fact',
        waitMs: () => waitMs,
        wrote: () => judging.forget(id),
      });
      return { againInMs: isJudged || unknown ? undefined : unjudgedAgainMs, ...pass };
    },

    async set(name) {
      const own = ownSets.get(name);
      const object = view.sets.get(name) ?? (own && (await writer.create(view.sets, own)));
      if (!object) {
        // Every change of a cluster that names it leads here.
        const waitMs = missing.waitMs(name);
        if (waitMs > 0) return { isShown: true, againInMs: waitMs };
        missing.forget(name);
        markThoseIn(name);
        return shown;
      }
      const now = nowMs();
      // Asked before counting: every change of any cluster leads here.
      const waitMs = counts.waitMs(name);
      if (waitMs > 0) return { isShown: true, againInMs: waitMs };
      counts.wrote(name);
      markThoseIn(name);
      const shownLabels = view.clusters.list().map(({ metadata }) => metadata.labels ?? {});
      const { isExceptionsOnly } = tools;
      const counted = desiredSet(object, { shown: shownLabels, isExceptionsOnly }, now);
      const unknown = await unknownAuthors.of(view.sets, object);
      const status = withUnheard(counted, unknown, { current: object, nowMs: now });
      return writeStatus(view.sets, object, {
        status,
        priority: () => 'count',
        waitMs: () => 0,
        wrote: () => undefined,
      });
    },
  };
}
