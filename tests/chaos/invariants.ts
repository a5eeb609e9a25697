import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterRecord, type ClusterRecord, foldRecord, type StoredEvent } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { labels } from '@rollcall/shared/resources';
import { openHubToRead } from '../../cli/verify/hub-to-read.ts';
import { verifyHub } from '../../cli/verify/verify.ts';
import { clusterRules } from '../simulation/cluster-rules.ts';
import { replayDifferences } from '../simulation/replay.ts';
import type { Stage } from './stage.ts';

/** What a hub at rest must be, whatever happened to it: I1 to I5, I9 and I10 (I6 to I8 are about what happens; run-schedule.ts). */
export interface Broken {
  readonly invariant: string;
  readonly what: string;
}

/** I2, I3 and the rest of the legal state machine, event by event. */
function brokenRules(events: readonly StoredEvent[]): Broken[] {
  const broken: Broken[] = [];
  const ofCluster = Map.groupBy(
    events.filter(({ kind }) => kind === 'cluster'),
    ({ id }) => id,
  );
  for (const [id, history] of ofCluster) {
    const fold = (count: number) =>
      clusterRecord(foldRecord({ kind: 'cluster', id }, history.slice(0, count)));
    for (const [index, event] of history.entries()) {
      const step = {
        event,
        before: fold(index),
        after: fold(index + 1),
        history: history.slice(0, index),
        world: undefined,
      };
      for (const rule of clusterRules) {
        const what = rule.needsWorld ? undefined : rule.broken(step);
        if (what !== undefined)
          broken.push({
            invariant: rule.invariant,
            what: `event ${event.sequence} (${id} ${event.type}): ${what}`,
          });
      }
    }
  }
  return broken;
}

function recordsOf(events: readonly StoredEvent[]): ClusterRecord[] {
  const ofCluster = Map.groupBy(
    events.filter(({ kind }) => kind === 'cluster'),
    ({ id }) => id,
  );
  return [...ofCluster].map(([id, history]) => clusterRecord(foldRecord({ kind: 'cluster', id }, history)));
}

/** I3 one live key for each cluster, one cluster for each key. */
function brokenKeys(records: readonly ClusterRecord[]): Broken[] {
  const invariant = 'I3 one key for each cluster';
  const members = records.filter(({ decision }) => decision?.approvedKey !== undefined);
  const byKey = Map.groupBy(members, ({ decision }) => decision?.approvedKey);
  return [
    ...[...byKey].flatMap(([key, all]) =>
      all.length > 1 ? [{ invariant, what: `${key} is in for ${all.length} clusters` }] : [],
    ),
    ...members.flatMap(({ aggregate, decision, identity }) =>
      identity?.admittedKey === decision?.approvedKey
        ? []
        : [{ invariant, what: `${aggregate.id}: approved is not what was admitted` }],
    ),
  ];
}

/** I4 namespace, ServiceAccount and RoleBinding for whoever is in, and for nobody else. */
async function brokenAccess({ hub }: Stage, records: readonly ClusterRecord[]): Promise<Broken[]> {
  const invariant = 'I4 access of who is in, and of nobody else';
  const letIn = records.flatMap(({ decision }) => (decision?.approvedKey === undefined ? [] : [decision]));
  const wanted = new Set(letIn.map(({ namespace }) => namespace));
  const withAccess = new Set(
    letIn.filter(({ access }) => access === 'Namespace').map(({ namespace }) => namespace),
  );
  const { admin } = hub.up;
  const namespaces = (await admin.list<KubeObject>(resources.namespaces))
    .filter(({ metadata }) => metadata.labels?.[labels.createdBy] === 'rbac-provisioner')
    .filter(
      (namespace) => (namespace.metadata as { deletionTimestamp?: string }).deletionTimestamp === undefined,
    )
    .map(({ metadata }) => metadata.name);
  const extra = namespaces.filter((name) => !wanted.has(name));
  const missing = [...wanted].filter((name) => !namespaces.includes(name));
  const name = 'rollcall-member';
  const parts = await Promise.all(
    namespaces.map(async (namespace) => {
      const found = await Promise.all(
        [resources.serviceAccounts, resources.roleBindings].map((kind) =>
          admin.get(kind, { name, namespace }),
        ),
      );
      const there = found.filter((object) => object !== undefined).length;
      if (withAccess.has(namespace))
        return there < found.length ? [`${namespace} lacks its ServiceAccount or RoleBinding`] : [];
      return there > 0 ? [`${namespace} has a ServiceAccount or a RoleBinding, and no access`] : [];
    }),
  );
  return [
    ...extra.map((one) => `namespace ${one} is of nobody who is in`),
    ...missing.map((one) => `namespace ${one} is missing`),
    ...parts.flat(),
  ].map((what) => ({ invariant, what }));
}

function logFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(^|\/)logs\/[^/]+\.log(\.previous)?$/.test(path))
    .map((path) => join(directory, path));
}

/** I9 no token, no seed in any log or event. */
function brokenSecrets({ directory, secrets }: Stage, events: readonly StoredEvent[]): Broken[] {
  const invariant = 'I9 no secret outside its holder';
  const places = [
    ...logFiles(directory).map((path) => ({ where: path, text: readFileSync(path, 'utf8') })),
    { where: 'the events', text: JSON.stringify(events) },
  ];
  return places.flatMap(({ where, text }) =>
    secrets.some((secret) => text.includes(secret))
      ? [{ invariant, what: `a secret stands in ${where}` }]
      : [],
  );
}

/**
 * Looks at everything there is.
 * @param known - digests of events that were there before, by sequence: what was acknowledged is there for ever
 */
export async function brokenInvariants(
  stage: Stage,
  known: Map<number, string>,
): Promise<{ broken: Broken[]; events: readonly StoredEvent[] }> {
  const events = await Array.fromAsync(stage.hub.log.scan({}));
  const digests = new Map(events.map(({ sequence, digest }) => [sequence, digest]));
  const lost = [...known].filter(([sequence, digest]) => digests.get(sequence) !== digest);
  for (const [sequence, digest] of digests) known.set(sequence, digest);
  const records = recordsOf(events);
  const hub = await openHubToRead({ keys: stage.hub.up.stateDir });
  const { findings } = await verifyHub(hub).finally(() => hub.close());
  return {
    events,
    broken: [
      ...lost.map(([sequence]) => ({
        invariant: 'I1 what is acknowledged is kept',
        what: `event ${sequence}`,
      })),
      ...findings.map(({ code, about, message }) => ({
        invariant: /^(Projection|Declaration)/.test(code)
          ? 'I5 Kubernetes shows what the events say'
          : 'I1 the chain is whole',
        what: `${code} ${about}: ${message}`,
      })),
      ...brokenRules(events),
      ...brokenKeys(records),
      ...(await brokenAccess(stage, records)),
      ...brokenSecrets(stage, events),
      ...replayDifferences(events).map((what) => ({ invariant: 'I10 the same decisions again', what })),
    ],
  };
}
