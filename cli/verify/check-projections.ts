import { setTimeout as delay } from 'node:timers/promises';
import { projectionDifferences } from '@rollcall/projector/projection';
import type { EventLog, FactStore } from '@rollcall/shared/bus';
import { clusterRecord, foldRecord } from '@rollcall/shared/events';
import { type KubeClient, type KubeObject, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import {
  type ApprovalPolicy,
  type ClusterRegistrationRequest,
  type ClusterRegistrationToken,
  labels,
  type ManagedCluster,
  type ManagedClusterSet,
} from '@rollcall/shared/resources';
import { declaredFindings } from './check-declared.ts';
import type { Witness } from './check-history.ts';
import { type Finding, finding } from './finding.ts';

/** Everything that the projector writes. */
export interface Projections {
  readonly clusters: readonly StoredObject<ManagedCluster>[];
  readonly requests: readonly StoredObject<ClusterRegistrationRequest>[];
  readonly tokens: readonly StoredObject<ClusterRegistrationToken>[];
  readonly policies: readonly StoredObject<ApprovalPolicy>[];
  readonly sets: readonly StoredObject<ManagedClusterSet>[];
  readonly witnesses: readonly Witness[];
}

export async function readProjections(client: KubeClient): Promise<Projections> {
  const [clusters, requests, tokens, policies, sets] = await Promise.all([
    client.list<ManagedCluster>(resources.managedClusters),
    client.list<ClusterRegistrationRequest>(resources.clusterRegistrationRequests),
    client.list<ClusterRegistrationToken>(resources.clusterRegistrationTokens),
    client.list<ApprovalPolicy>(resources.approvalPolicies),
    client.list<ManagedClusterSet>(resources.managedClusterSets),
  ]);
  type Shown = StoredObject<
    KubeObject<unknown, { observed?: { epoch: number; sequence: number; digest?: string } }>
  >;
  const witnessesOf = (kind: string, objects: readonly unknown[]): Witness[] =>
    (objects as readonly Shown[]).flatMap(({ metadata, status }) => {
      const observed = status?.observed;
      if (!observed) return [];
      const { epoch, sequence, digest } = observed;
      return [{ object: `${kind}/${metadata.name}`, epoch, sequence, digest }];
    });
  const witnesses = [
    ...witnessesOf('ManagedCluster', clusters),
    ...witnessesOf('ClusterRegistrationRequest', requests),
    ...witnessesOf('ClusterRegistrationToken', tokens),
    ...witnessesOf('ApprovalPolicy', policies),
  ];
  return { clusters, requests, tokens, policies, sets, witnesses };
}

async function differences(
  { clusters, requests }: Projections,
  bus: { log: EventLog; facts: FactStore; isExceptionsOnly: boolean },
): Promise<Finding[]> {
  const { isExceptionsOnly } = bus;
  const byName = new Map(clusters.map((object) => [object.metadata.name, object]));
  const byId = new Map(requests.map((object) => [object.metadata.name, object]));
  const events = Map.groupBy(await bus.log.readAll('cluster.*.*'), ({ id }) => id);
  const findings: Finding[] = [];
  for (const [id, ofCluster] of events) {
    const record = clusterRecord(foldRecord({ kind: 'cluster', id }, ofCluster));
    const clusterNamed = (name: string) => byName.get(name);
    const shown = { clusterNamed, request: byId.get(id), isExceptionsOnly };
    for (const { object, what, fields } of projectionDifferences(record, await bus.facts.get(id), shown)) {
      if (what === 'missing') findings.push(finding('ProjectionMissing', object, 'it is not there'));
      else if (what === 'status')
        findings.push(finding('ProjectionDiffers', object, `its status differs in: ${fields.join(', ')}`));
      else findings.push(finding('ProjectionDiffers', object, 'it should be gone'));
    }
  }
  const ofNobody = [
    ...clusters
      .filter(
        ({ metadata, spec }) =>
          metadata.labels?.[labels.createdBy] === 'projector' && !events.has(spec.clusterId ?? ''),
      )
      .map(({ metadata }) => `ManagedCluster/${metadata.name}`),
    ...requests
      .filter(({ metadata }) => !events.has(metadata.name))
      .map(({ metadata }) => `ClusterRegistrationRequest/${metadata.name}`),
  ];
  for (const object of ofNobody)
    findings.push(finding('ProjectionUnknown', object, 'the history knows nothing of this cluster'));
  return findings;
}

const looks = 4;
const lookAgainMs = 1500;

/**
 * Compares what Kubernetes shows with the fold of the events. A hub that works is never quite still, so only what differs in
 * each of some looks counts.
 * @param bus.isExceptionsOnly - whether the projector leaves out clusters that are well
 */
export async function checkProjections(
  client: KubeClient,
  bus: { log: EventLog; facts: FactStore; isExceptionsOnly: boolean },
): Promise<Finding[]> {
  let lasting: Finding[] | undefined;
  for (let look = 1; look <= looks; look++) {
    const projections = await readProjections(client);
    const now = [
      ...(await differences(projections, bus)),
      ...(await declaredFindings(projections, { log: bus.log, nowMs: Date.now() })),
    ];
    lasting = (lasting ?? now).filter((before) =>
      now.some(
        ({ code, about, message }) =>
          code === before.code && about === before.about && message === before.message,
      ),
    );
    if (lasting.length === 0) break;
    if (look < looks) await delay(lookAgainMs);
  }
  return lasting ?? [];
}
