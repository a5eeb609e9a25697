import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type KubeClient, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { pods, statefulSets } from '../../cli/install/workloads.ts';
import { asControllerManager } from './pod-files.ts';
import { podAddress, type PodProcess, type PodSpec, startContainer } from './pod-process.ts';

type Workload = KubeObject<{
  replicas?: number;
  template: { metadata?: object; spec: PodSpec };
  volumeClaimTemplates?: readonly { metadata: { name: string } }[];
}>;

interface Wanted {
  readonly resource: Resource;
  readonly workload: Workload;
}

interface RunningPod {
  readonly name: string;
  readonly ip: string;
  readonly workload: string;
  /** Of which of its templates. */
  readonly of: string;
  process?: PodProcess | undefined;
  restarts: number;
  /** Why it could not be started. */
  trouble?: string | undefined;
  isReady: boolean;
}

/** Where a pod of it runs: the pods of a StatefulSet by their names and with addresses of their own, a Deployment in one process. */
function slotsOf({ resource, workload: { metadata, spec } }: Wanted): { slot: string; ip: string }[] {
  const { name = '' } = metadata;
  if (resource !== statefulSets) return [{ slot: name, ip: podAddress(0) }];
  const count = spec?.replicas ?? 1;
  return Array.from({ length: count }, (_, index) => ({ slot: `${name}-${index}`, ip: podAddress(index) }));
}

/**
 * Controllers and kubelet of a cluster that has neither: what is applied in a namespace runs as processes, with the tokens, files
 * and variables that it declares. The pods are real objects, so the API server judges them (Pod Security, ServiceAccounts); their
 * processes have the rights that the chart gives, and nothing more.
 */
export interface ChartRunner extends AsyncDisposable {
  /** What the pods of a workload printed, so far and before. */
  log(workload: string): string;
}

const lookEveryMs = 200;

export function startChartRunner(client: KubeClient, namespace: string): ChartRunner {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-pods-'));
  /** By where they run. */
  const running = new Map<string, RunningPod>();
  const logs = new Map<string, string>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const inNamespace = { namespace };
  /** What the API server refused, a pod for example. */
  const refusals: string[] = [];
  let counter = 0;
  /** Versions of the Secrets that pods have. */
  let mounted = '';

  /** Init containers to their end, then the one container. */
  async function startProcess(slot: string, pod: RunningPod, workload: Workload): Promise<void> {
    const object = await client.get<KubeObject<PodSpec>>(pods, { name: pod.name, ...inNamespace });
    if (!object?.spec) return;
    const { initContainers = [], containers, serviceAccountName = 'default', volumes = [] } = object.spec;
    const claims = workload.spec?.volumeClaimTemplates?.map(({ metadata: { name } }) => name) ?? [];
    const claimed = claims.map((name) => ({ name, directory: join(base, `${slot}-${name}`) }));
    const spec = {
      containers,
      volumes: [...claimed, ...volumes.filter(({ name }) => !claims.includes(name))],
    };
    const { name, ip } = pod;
    const identity = { name, ip, namespace, uid: object.metadata.uid, serviceAccountName, spec };
    const directory = join(base, pod.name);
    for (const container of initContainers) {
      const process = await startContainer(client, identity, { container, directory });
      await process.ended;
      if (process.exitCode() !== 0) throw new Error(`${container.name}: ${process.log()}`);
    }
    const [container] = containers;
    if (!container || containers.length > 1) throw new Error('a pod of one container is expected');
    pod.process = await startContainer(client, identity, { container, directory });
  }

  async function startPod(slot: string, pod: RunningPod, workload: Workload): Promise<RunningPod> {
    const { metadata, spec } = workload.spec?.template ?? {};
    const claims = workload.spec?.volumeClaimTemplates ?? [];
    const volumes = claims.map(({ metadata: { name } }) => ({
      name,
      persistentVolumeClaim: { claimName: name },
    }));
    const withClaims = { ...spec, volumes: [...(spec?.volumes ?? []), ...volumes] };
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: pod.name },
      spec: withClaims,
    };
    await client.create<KubeObject>(pods, object, inNamespace);
    running.set(slot, pod);
    return pod;
  }

  async function endPod(slot: string, pod: RunningPod): Promise<void> {
    running.delete(slot);
    await pod.process?.stop();
    logs.set(pod.workload, (logs.get(pod.workload) ?? '') + (pod.process?.log() ?? ''));
    await client.delete(pods, pod.name, inNamespace);
  }

  /** Starts what does not run. */
  async function tend(slot: string, pod: RunningPod, workload: Workload): Promise<void> {
    const hasEnded = pod.process?.exitCode() !== undefined;
    if (hasEnded) pod.restarts++;
    if (hasEnded || !pod.process) {
      pod.trouble = undefined;
      pod.process = undefined;
      await startProcess(slot, pod, workload).catch((error: unknown) => void (pod.trouble = String(error)));
    }
    pod.isReady = (await pod.process?.isReady()) ?? false;
  }

  const asStatus = { ...inNamespace, subresource: 'status' };

  /** As the kubelet would show it. */
  async function showPod(
    { name, trouble, restarts, isReady: ready }: RunningPod,
    workload: Workload,
  ): Promise<void> {
    const state = trouble
      ? { waiting: { reason: 'CreateContainerConfigError', message: trouble } }
      : { running: {} };
    const [{ name: of = '' } = {}] = workload.spec?.template.spec.containers ?? [];
    const container = { name: of, image: '', imageID: '', ready, restartCount: restarts, state };
    const podStatus = { phase: trouble ? 'Pending' : 'Running', containerStatuses: [container] };
    await client.mergePatch(pods, name, { status: podStatus }, asStatus);
  }

  /** Another template comes to one pod after the other, the last first, as a StatefulSet does it. */
  async function endOutdated(slots: readonly string[], of: string): Promise<void> {
    const slot = slots.findLast((one) => (running.get(one)?.of ?? of) !== of);
    const pod = slot === undefined ? undefined : running.get(slot);
    if (slot === undefined || !pod) return;
    const others = slots.filter((one) => one !== slot);
    if (others.every((one) => running.get(one)?.isReady === true)) await endPod(slot, pod);
  }

  async function tendAll(wanted: Wanted): Promise<void> {
    const { resource, workload } = wanted;
    const { name = '', uid, generation } = workload.metadata;
    const of = `${uid} ${JSON.stringify(workload.spec?.template)}`;
    const slots = slotsOf(wanted);
    await endOutdated(
      slots.map(({ slot }) => slot),
      of,
    );
    const all = await Promise.all(
      slots.map(async ({ slot, ip }) => {
        const podName = resource === statefulSets ? slot : `${slot}-${++counter}`;
        const pod =
          running.get(slot) ??
          (await startPod(
            slot,
            { name: podName, ip, workload: name, of, restarts: 0, isReady: false },
            workload,
          ));
        await tend(slot, pod, workload);
        await showPod(pod, workload);
        return pod;
      }),
    );
    const count = all.filter(({ isReady }) => isReady).length;
    const status = {
      observedGeneration: generation,
      replicas: all.length,
      updatedReplicas: all.filter((pod) => pod.of === of).length,
      readyReplicas: count,
      availableReplicas: count,
    };
    await client.mergePatch(resource, name, { status }, asStatus);
  }

  /** What pods have mounted follows, as by the kubelet. */
  async function refreshSecrets(): Promise<void> {
    const secrets = await client.list<KubeObject>(resources.secrets, inNamespace);
    const now = secrets.map(({ metadata }) => metadata.resourceVersion).join();
    if (now === mounted) return;
    mounted = now;
    for (const pod of running.values()) await pod.process?.refresh();
  }

  async function look(): Promise<void> {
    const lists = [statefulSets, resources.deployments].map(async (resource) => {
      const found = await client.list<Workload>(resource, inNamespace);
      return found.map((workload) => ({ resource, workload }));
    });
    const wanted = (await Promise.all(lists)).flat();
    for (const [slot, pod] of running)
      if (!wanted.some(({ workload }) => workload.metadata.name === pod.workload)) await endPod(slot, pod);
    await asControllerManager(client, namespace);
    await refreshSecrets();
    for (const outcome of await Promise.allSettled(wanted.map(tendAll)))
      if (outcome.status === 'rejected') refusals.push(String(outcome.reason));
  }

  async function live(): Promise<void> {
    while (!signal.aborted) {
      // What was deleted while it was looked at is looked at again.
      await look().catch(() => undefined);
      await delay(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }
  const living = live();
  return {
    log(workload) {
      const now = [...running.values()].filter((pod) => pod.workload === workload);
      return [logs.get(workload), ...now.map((pod) => pod.process?.log()), ...refusals.slice(-5)].join('\n');
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await living;
      // NATS last: services say goodbye to it.
      for (const pod of [...running.values()].toReversed()) await pod.process?.stop();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
