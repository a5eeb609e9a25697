import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '@rollcall/shared/bus';
import {
  clusterIdOf,
  type ClusterRecord,
  clusterRecord,
  draft,
  type EventDraft,
  identitySchema,
  left,
  nameTaken,
  requested,
  tokenRecord,
  type TokenRecord,
} from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { apiVersion, type ApprovalPolicy, type ClusterRegistrationRequest } from '@rollcall/shared/resources';
import type { RunningService } from '@rollcall/shared/service';
import { createNkey, keyFingerprint, tokenIdOf } from '@rollcall/shared/trust';
import {
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../../tests/harness/control-plane.ts';
import { until } from '../../../tests/harness/embedded.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

/** One hub and one API server, with the other services played by the test under their own identities. */
export interface ApproverWorld extends AsyncDisposable {
  readonly hub: TestHub;
  readonly plane: TestControlPlane;
  readonly registrar: EventLog;
  startApprover(): Promise<RunningService>;
  /** Makes a token object; nothing waits for its declaration. */
  makeToken(name: string, spec?: object, namespace?: string): Promise<{ tokenId: string }>;
  makePolicy(name: string, rules: readonly object[]): Promise<void>;
  removePolicy(name: string): Promise<void>;
  /** Says as the registrar that a cluster asks to join. */
  request(
    name: string,
    options?: { tokenId?: string; key?: string; id?: string; admittedKey?: string; claimed?: object },
  ): Promise<{ id: string; key: string }>;
  /** Shows the request in Kubernetes, as the projector does. */
  showRequest(name: string, key: string): Promise<void>;
  /** Shows in the request's status what has happened up to now, as the projector does: a person decides on what they see. */
  showStatus(name: string): Promise<void>;
  /** Shows the cluster in Kubernetes, as the projector does. */
  showCluster(name: string): Promise<void>;
  /** Says as the registrar that the cluster had its name, and that it has left. */
  takeNameAndLeave(name: string): Promise<void>;
  cluster(name: string): Promise<ClusterRecord>;
  /** Waits until the record of a cluster is so. */
  clusterIs(name: string, isSo: (record: ClusterRecord) => boolean): Promise<ClusterRecord>;
  tokenIs(tokenId: string, isSo: (record: TokenRecord) => boolean): Promise<TokenRecord>;
}

const aggregateOf = (name: string) => ({ kind: 'cluster', id: clusterIdOf(name) }) as const;

/** The API server takes some seconds after its start to learn the kinds that its admission policies are about. */
async function untilKindsAreKnown({ admin }: TestControlPlane): Promise<void> {
  const tries = [
    [resources.clusterRegistrationTokens, { publish: true }],
    [resources.approvalPolicies, { rules: [] }],
    [resources.managedClusters, { clusterId: 'dry-run' }],
  ] as const;
  const isKnown = ([resource, spec]: (typeof tries)[number]): Promise<boolean> => {
    const metadata = { name: 'dry-run', ...(resource.namespaced ? { namespace: 'rollcall-join' } : {}) };
    const object = { apiVersion, kind: resource.kind, metadata, spec };
    return admin.create<KubeObject>(resource, object, { dryRun: true }).then(
      () => true,
      (error: unknown) => !String(error).includes('not found'),
    );
  };
  for (let rounds = 600; rounds > 0; rounds--) {
    if (!(await Promise.all(tries.map(isKnown))).includes(false)) return;
    await delay(50);
  }
}

/** Asked again and again: an event can be heard a moment before it is stored. */
function whenSo<Value>(
  what: string,
  read: () => Promise<Value>,
  isSo: (value: Value) => boolean,
): Promise<Value> {
  return until(what, async () => {
    const value = await read();
    return isSo(value) && value;
  });
}

export async function startWorld(): Promise<ApproverWorld> {
  const [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane()]);
  await untilKindsAreKnown(plane);
  const registrar = await hub.openLog('registrar');
  const projector = plane.clientFor(serviceUser('projector'));
  const running: RunningService[] = [];

  const cluster = async (name: string) => clusterRecord(await registrar.read(aggregateOf(name)));
  const token = async (id: string) => tokenRecord(await registrar.read({ kind: 'token', id }));

  return {
    hub,
    plane,
    registrar,
    async startApprover() {
      const approver = await start(
        configSchema.parse({
          ...hub.serviceSettings('approver'),
          kubeconfig: plane.kubeconfigFor(serviceUser('approver')),
          admissionProbeKubeconfig: plane.kubeconfigFor(serviceUser('admission-probe')),
        }),
      );
      running.push(approver);
      return approver;
    },
    async makeToken(name, spec = {}, namespace = 'rollcall-join') {
      const { publicKey } = createNkey('user');
      const object = {
        apiVersion,
        kind: 'ClusterRegistrationToken',
        metadata: { name, namespace },
        spec: { publicKey, ...spec },
      };
      await plane.admin.create(resources.clusterRegistrationTokens, object);
      return { tokenId: tokenIdOf(publicKey) };
    },
    async makePolicy(name, rules) {
      const before = await plane.admin.get<KubeObject>(resources.approvalPolicies, { name });
      const object = { apiVersion, kind: 'ApprovalPolicy', metadata: { name }, spec: { rules } };
      if (before)
        await plane.admin.mergePatch<ApprovalPolicy>(resources.approvalPolicies, name, { spec: { rules } });
      else await plane.admin.create(resources.approvalPolicies, object);
    },
    async removePolicy(name) {
      await plane.admin.delete(resources.approvalPolicies, name);
    },
    async request(
      name,
      {
        tokenId = 'none',
        key = createNkey('user').publicKey,
        id = `R-${name}`,
        admittedKey,
        claimed = {},
      } = {},
    ) {
      const { aggregate, head } = await cluster(name);
      const section = identitySchema.parse({
        state: 'requested',
        clusterId: aggregate.id,
        clusterName: name,
        request: {
          id,
          key,
          keyFingerprint: keyFingerprint(key),
          tokenId,
          tokenName: 'rollcall-join/t',
          claimed,
          requestedAtMs: Date.now(),
        },
        ...(admittedKey === undefined ? {} : { admittedKey }),
      });
      const event: EventDraft = draft(
        requested,
        { aggregate, head },
        { reason: 'Requested', message: 'm', section },
      );
      await registrar.append([event], { correlation: id });
      return { id, key };
    },
    async showRequest(name, key) {
      const spec = { clusterId: clusterIdOf(name), clusterName: name, keyFingerprint: keyFingerprint(key) };
      const object = {
        apiVersion,
        kind: 'ClusterRegistrationRequest',
        metadata: { name: spec.clusterId },
        spec,
      };
      await projector.create<KubeObject>(resources.clusterRegistrationRequests, object);
    },
    async showStatus(name) {
      const { aggregate, head } = await cluster(name);
      await projector.mergePatch(
        resources.clusterRegistrationRequests,
        aggregate.id,
        { status: { observed: head } },
        { subresource: 'status' },
      );
    },
    async showCluster(name) {
      const clusterId = clusterIdOf(name);
      const labels = { 'rollcall.dev/cluster-id': clusterId };
      const metadata = { name, labels, finalizers: ['rollcall.dev/leave'] };
      const object = { apiVersion, kind: 'ManagedCluster', metadata, spec: { clusterId } };
      await projector.create<KubeObject>(resources.managedClusters, object);
    },
    async takeNameAndLeave(name) {
      const { identity, aggregate, head } = await cluster(name);
      if (!identity) throw new Error(`nobody asked as ${name}`);
      const place = { aggregate: { kind: 'name', id: name }, head: undefined } as const;
      const taken = { name, clusterId: aggregate.id, free: false };
      const trace = { correlation: 'c' };
      await registrar.append(
        [draft(nameTaken, place, { reason: 'NameTaken', message: 'm', section: taken })],
        trace,
      );
      const section = { ...identity, state: 'left' as const };
      await registrar.append(
        [draft(left, { aggregate, head }, { reason: 'Left', message: 'm', section })],
        trace,
      );
    },
    cluster,
    clusterIs: (name, isSo) => whenSo(`cluster ${name} is so`, () => cluster(name), isSo),
    tokenIs: (id, isSo) => whenSo(`token ${id} is so`, () => token(id), isSo),
    async [Symbol.asyncDispose]() {
      projector.close();
      await Promise.allSettled(running.map((service) => service.stop()));
      await Promise.allSettled([hub[Symbol.asyncDispose](), plane[Symbol.asyncDispose]()]);
    },
  };
}

/** What `kubectl patch` of a person sends. */
export const decisionPatch = (
  verdict: 'Approve' | 'Deny',
  key: string,
  by: string,
): Partial<ClusterRegistrationRequest> & object =>
  ({
    spec: { decision: { verdict, keyFingerprint: keyFingerprint(key), by } },
  }) as Partial<ClusterRegistrationRequest> & object;
