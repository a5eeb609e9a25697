import { randomUUID } from 'node:crypto';
import type { NatsConnection } from '@nats-io/transport-node';
import { forgetConsumers, refillStream, setUpStreams } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { clusterRecord, draft, suspect } from '@rollcall/shared/events';
import { type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { createNkey } from '@rollcall/shared/trust';
import { temporaryUser } from '../../cli/backup/temporary-user.ts';
import { residentBytes } from '../../cli/simulate/report/process-usage.ts';
import type { ChildHandle } from '../../cli/up/process/child-process.ts';
import { livesOf, messagesOf, type Written } from '../../tests/harness/cluster-history.ts';
import {
  serviceUser,
  startTestControlPlane,
  type TestControlPlane,
} from '../../tests/harness/control-plane.ts';
import { until } from '../../tests/harness/embedded.ts';
import { serveInProcess } from '../../tests/harness/service-process.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { ownSets } from '../../services/projector/desired/built-in-sets.ts';
import { nowMs } from '../report/clock.ts';
import { watchClusters } from '../hub/cluster-watch.ts';
import { readToStore, storeObjects, type ToStore } from './store-objects.ts';

/** A projector that starts on a hub with many clusters, all of which Kubernetes shows as they are but one. */
export interface ProjectorResult {
  readonly clusters: number;
  /** From the start of its process until a transition that it finds is shown. */
  readonly transitionMs: number;
  /** Until it has compared everything. */
  readonly comparedMs: number;
  /** But for the transition: all are equal. */
  readonly writes: number;
  readonly residentBytes: number;
}

interface Observed {
  readonly epoch: number;
  readonly sequence: number;
  readonly digest: string;
}

const shownKinds = [resources.managedClusters, resources.clusterRegistrationRequests] as const;
/** Their names in these kinds; `livesOf` gives each cluster both. */
const nameIn = (resource: Resource, index: number) =>
  resource === resources.managedClusters ? `edge-${index}` : `cluster-${index}`;
/** Clusters differ by their number, and by whether it is odd. */
const samples = [0, 1];
const comparedWithin = { withinMs: 600_000, everyMs: 200 };

function serveProjector(hub: TestHub, plane: TestControlPlane): Promise<ChildHandle> {
  const kubeconfig = plane.kubeconfigFor(serviceUser('projector'));
  const settings = { ...hub.serviceSettings('projector'), kubeconfig, logLevel: 'info' };
  return serveInProcess('projector', { label: 'projector-1', stateDir: hub.stateDir, settings });
}

interface Stats {
  readonly queued: number;
  readonly isMarked: number;
  readonly kubernetesWrites: number;
}

/** Nobody answers at first. */
function untilCompared(ops: NatsConnection): Promise<Stats> {
  const ask = async () => {
    const answer = await ops.request('$SRV.STATS.projector', '', { timeout: 1000 }).catch(() => undefined);
    const stats = answer?.json<{ data: Stats }>().data;
    return stats?.isMarked === 1 && stats.queued === 0 && stats;
  };
  return until('the projector has compared everything', ask, comparedWithin);
}

/** What a projector has made of the first clusters, as the API server has it. */
async function projectSamples(plane: TestControlPlane, history: Iterable<Written[]>): Promise<ToStore[][]> {
  await using hub = await startTestHub();
  await refillStream(await hub.connectAsOperator(), messagesOf(history), { sameSequences: true });
  await using _ = await serveProjector(hub, plane);
  await untilCompared(await hub.connectAs('inspector'));
  return Promise.all(
    samples.map((index) =>
      Promise.all(shownKinds.map((resource) => readToStore(plane.admin, resource, nameIn(resource, index)))),
    ),
  );
}

/** The objects of all clusters as a projector would have made them: those of the samples, with each one's names and witnesses. */
function* objectsOf(
  made: readonly (readonly ToStore[])[],
  sampleEvents: readonly (readonly Written[])[],
  history: Iterable<readonly Written[]>,
): Generator<ToStore> {
  let index = 0;
  for (const events of history) {
    const sample = index % samples.length;
    const named = (text: string) =>
      text
        .replaceAll(`cluster-${sample}`, `cluster-${index}`)
        .replaceAll(`edge-${sample}`, `edge-${index}`)
        .replaceAll(`request-${sample}`, `request-${index}`);
    for (const { resource, object } of made[sample] ?? []) {
      const copy = JSON.parse(named(JSON.stringify(object))) as KubeObject & {
        status: { observed: Observed };
      };
      const { observed } = copy.status;
      const at = (sampleEvents[sample] ?? []).findIndex(({ digest }) => digest === observed.digest);
      const { sequence = 0, digest = '' } = events[at] ?? {};
      copy.status.observed = { ...observed, sequence, digest };
      yield { resource, object: { ...copy, metadata: { ...copy.metadata, uid: randomUUID() } } };
    }
    index++;
  }
}

/** The last of them falls silent while no projector runs. @returns its name */
async function loseOne(hub: TestHub, clusters: number): Promise<string> {
  const index = clusters - 1;
  const log = await hub.openLog('heartbeat');
  const record = clusterRecord(await log.read({ kind: 'cluster', id: `cluster-${index}` }));
  if (!record.liveness) throw new RollcallError('UNEXPECTED', `there is no cluster ${index}`);
  const section = {
    ...record.liveness,
    state: 'suspect',
    cause: 'NoHeartbeats',
    sinceMs: Date.now(),
  } as const;
  const what = { reason: 'NoHeartbeats', message: 'made up by the bench', section };
  await log.append([draft(suspect, record, what)], { correlation: 'bench' });
  return `edge-${index}`;
}

export async function measureProjector(
  clusters: number,
  say: (message: string) => void,
): Promise<ProjectorResult> {
  const atMs = Date.now() - 60_000;
  const { publicKey } = createNkey('user');
  const historyOf = (count: number) => livesOf(Array<string>(count).fill(publicKey), atMs);
  await using plane = await startTestControlPlane();
  say('what a projector makes of a cluster');
  const sampleEvents = [...historyOf(samples.length)];
  const made = await projectSamples(plane, sampleEvents);
  await using hub = await startTestHub();
  say(`${clusters} clusters, their history and their objects`);
  const history = [...historyOf(clusters)];
  const events = await refillStream(await hub.connectAsOperator(), messagesOf(history), {
    sameSequences: true,
  });
  // All of them were handled before it was stopped.
  await forgetConsumers(await hub.connectWith(temporaryUser(hub.stateDir, hub.hub, 'restore'), 'restore'));
  await setUpStreams(await hub.connectAs('setup'), { replicas: 1, handled: { projector: events } });
  await storeObjects(plane.plane.etcdEndpoint, objectsOf(made, sampleEvents, history));
  history.length = 0;
  const lost = await loseOne(hub, clusters);
  const watch = await watchClusters(plane.admin);
  const ops = await hub.connectAs('inspector');
  say('the projector starts');
  const fromMs = nowMs();
  const shown = watch.whenNext(lost, ['Unknown']);
  try {
    await using projector = await serveProjector(hub, plane);
    const transitionMs = (await shown) - fromMs;
    const { kubernetesWrites } = await untilCompared(ops);
    return {
      clusters,
      transitionMs,
      comparedMs: nowMs() - fromMs,
      // Its ManagedCluster's status, and of each set how many clusters it has now.
      writes: kubernetesWrites - 1 - ownSets.size,
      residentBytes: residentBytes(projector.pid) ?? Number.NaN,
    };
  } finally {
    await watch.stop();
  }
}
