import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';
import { quantile } from '../../cli/simulate/report/quantile.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import {
  memberRoleBinding,
  memberServiceAccount,
} from '../../services/rbac-provisioner/access/member-access-objects.ts';
import { until } from '../../tests/harness/embedded.ts';
import { type BareClient, bareClient } from '../joins/bare-client.ts';
import { watchClusters } from '../hub/cluster-watch.ts';
import { inTime } from '../hub/in-time.ts';
import type { ReplayRequest } from '../joins/replay-plan.ts';
import { type BenchHub, openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { readToStore, storeObjects, type ToStore } from './store-objects.ts';
import { openUsageWindow, usedCores } from '../report/usage-window.ts';

/** What a plain request of somebody costs an API server: user and system time, medians over the rounds. */
export interface RequestsResult {
  readonly clusters: number;
  readonly cpuMsPerRequest: Readonly<Record<'read' | 'write', Record<'empty' | 'full', number>>>;
}

/** In turns, so that a busy machine is busy for both. */
const rounds = 7;
const requestsInRound = 1500;
const atOnce = 8;
const person = 'somebody';
/** An API server that was given many objects is busy with them for a while. */
const restsAtShare = 0.1;
const looksAtRestMs = 3000;
const patience = { withinMs: 300_000, everyMs: 500 };

type Request = Omit<ReplayRequest, 'user'>;
const path = '/api/v1/namespaces/default/configmaps/plain';
const requests: Readonly<Record<'read' | 'write', (turn: number) => Request>> = {
  read: () => ({ method: 'GET', path, body: undefined, contentType: '' }),
  write: (turn) => ({
    method: 'PATCH',
    path,
    body: JSON.stringify({ data: { turn: String(turn) } }),
    contentType: 'application/merge-patch+json',
  }),
};

/** A ConfigMap, and somebody who may read and write it by RBAC: who is asked about by every rule that there is. */
async function allowPerson(admin: KubeClient): Promise<void> {
  const inDefault = { namespace: 'default' };
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: 'plain', ...inDefault };
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'] }];
  const subjects = [{ kind: 'User', name: person, apiGroup: rbac }];
  const roleRef = { apiGroup: rbac, kind: 'Role', name: 'plain' };
  const objects = [
    [resources.configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} }],
    [resources.roles, { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules }],
    [resources.roleBindings, { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, subjects, roleRef }],
  ] as const;
  for (const [resource, object] of objects) await admin.create(resource, object as KubeObject, inDefault);
}

interface Candidate extends AsyncDisposable {
  readonly hub: BenchHub;
  readonly admin: KubeClient;
  readonly client: BareClient;
  readonly costsMs: Record<'read' | 'write', number[]>;
}

async function startCandidate(): Promise<Candidate> {
  const hub = await startBenchHub({ audit: 'none', withMember: false, person });
  const { report } = hub;
  if (!report.person) throw new RollcallError('UNEXPECTED', 'the hub made no user for the bench');
  const admin = openBenchClient(report.admin);
  await allowPerson(admin);
  const client = bareClient(report.person, atOnce);
  return {
    hub,
    admin,
    client,
    costsMs: { read: [], write: [] },
    async [Symbol.asyncDispose]() {
      client.close();
      admin.close();
      await hub[Symbol.asyncDispose]();
    },
  };
}

const sample = 'sample-cluster';

/** All that one cluster is on the API server, as the hub made it, and an account as one with access has. */
async function joinOne({ hub: { report }, admin }: Candidate): Promise<ToStore[]> {
  const watch = await watchClusters(admin);
  const token = await makeToken(admin, { hubId: report.hubId, name: 'requests', uses: 1 });
  const { addresses, caPem } = report;
  const agent = startSimulatedAgent({
    cluster: sample,
    hub: addresses,
    caPem,
    token,
    onTrouble: () => undefined,
  });
  try {
    await inTime('the sample is Ready', watch.whenReady(sample));
  } finally {
    await watch.stop();
    await agent.stop();
  }
  const kinds = [resources.managedClusters, resources.clusterRegistrationRequests, resources.namespaces];
  const stored = await Promise.all(kinds.map((resource) => readToStore(admin, resource, sample)));
  const member = { clusterId: sample, clusterName: sample, namespace: sample };
  return [
    ...stored,
    { resource: resources.serviceAccounts, object: memberServiceAccount(member) },
    { resource: resources.roleBindings, object: memberRoleBinding(member) },
  ];
}

function* copiesOf(objects: readonly ToStore[], count: number): Generator<ToStore> {
  const texts = objects.map(({ resource, object }) => ({ resource, text: JSON.stringify(object) }));
  for (let index = 1; index <= count; index++)
    for (const { resource, text } of texts) {
      const name = `cluster-${String(index).padStart(6, '0')}`;
      const { metadata, ...rest } = JSON.parse(text.replaceAll(sample, name)) as KubeObject;
      const creationTimestamp = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      yield {
        resource,
        object: { ...rest, metadata: { creationTimestamp, ...metadata, uid: randomUUID() } } as KubeObject,
      };
    }
}

/** What is put into etcd past an API server reaches its cache a moment later. */
async function untilKnown(admin: KubeClient, clusters: number): Promise<void> {
  const ask = async () => {
    const { remaining, items } = await admin.listPage(resources.managedClusters, { limit: 1 });
    return remaining + items.length >= clusters;
  };
  await until('the API server has heard of all of them', ask, patience);
}

const apiServer = 'kube-apiserver';

async function untilAtRest({ hub: { report } }: Candidate): Promise<void> {
  const pids = { [apiServer]: report.pids[apiServer] ?? 0 };
  const ask = async () => {
    const end = openUsageWindow(pids);
    await delay(looksAtRestMs);
    return (usedCores(end())[apiServer] ?? 0) < restsAtShare;
  };
  await until('the API server has come to rest', ask, patience);
}

/** @returns CPU of the API server for each request, less what it uses at rest */
async function costOf({ hub: { report }, client }: Candidate, request: (turn: number) => Request) {
  const pids = { [apiServer]: report.pids[apiServer] ?? 0 };
  const atRest = openUsageWindow(pids);
  await delay(looksAtRestMs);
  const rest = atRest();
  const end = openUsageWindow(pids);
  const turns = Array.from({ length: requestsInRound }, (_, turn) => turn);
  const answers = new Set(await inParallel(turns, atOnce, (turn) => client.send(request(turn))));
  const busy = end();
  answers.delete(200);
  if (answers.size > 0) throw new RollcallError('UNEXPECTED', `refused: ${[...answers].join(', ')}`);
  const ofRest = (usedCores(rest)[apiServer] ?? 0) * busy.lastedMs;
  return ((busy.cpuMs[apiServer] ?? 0) - ofRest) / requestsInRound;
}

/** Two hubs, of which one has many clusters: what a request that is not about them costs each API server. */
export async function measureRequests(
  clusters: number,
  say: (message: string) => void,
): Promise<RequestsResult> {
  await using stack = new AsyncDisposableStack();
  say('starting two hubs');
  const empty = stack.use(await startCandidate());
  const full = stack.use(await startCandidate());
  const objects = await joinOne(full);
  // What follows is about the API servers alone; services would begin to compare.
  await Promise.all([empty, full].map(({ hub }) => hub.stopServices()));
  say(`${clusters} clusters, ${objects.length} objects each, into the etcd of one`);
  await storeObjects(full.hub.report.etcd, copiesOf(objects, clusters));
  await untilKnown(full.admin, clusters);
  await untilAtRest(full);
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds}`);
    for (const what of ['read', 'write'] as const)
      for (const one of round % 2 === 0 ? [empty, full] : [full, empty])
        one.costsMs[what].push(await costOf(one, requests[what]));
  }
  const median = (what: 'read' | 'write') => ({
    empty: quantile(empty.costsMs[what], 0.5),
    full: quantile(full.costsMs[what], 0.5),
  });
  return { clusters, cpuMsPerRequest: { read: median('read'), write: median('write') } };
}
