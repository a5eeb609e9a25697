import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type KubeClient, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { pods, statefulSets } from '../../cli/install/workloads.ts';
import { asControllerManager } from './pod-files.ts';
import { type PodProcess, type PodSpec, startContainer } from './pod-process.ts';

type Workload = KubeObject<{
  template: { metadata?: object; spec: PodSpec };
  volumeClaimTemplates?: readonly { metadata: { name: string } }[];
}>;

interface RunningPod {
  readonly name: string;
  /** Of which workload, and of which of its templates. */
  readonly of: string;
  process?: PodProcess | undefined;
  restarts: number;
  /** Why it could not be started. */
  trouble?: string | undefined;
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
  const running = new Map<string, RunningPod>();
  const logs = new Map<string, string>();
  const stopping = new AbortController();
  const { signal } = stopping;
  const inNamespace = { namespace };
  /** What the API server refused, a pod for example. */
  const refusals: string[] = [];
  let counter = 0;

  /** Init containers to their end, then the one container. */
  async function startProcess(pod: RunningPod, workload: Workload): Promise<void> {
    const object = await client.get<KubeObject<PodSpec>>(pods, { name: pod.name, ...inNamespace });
    if (!object?.spec) return;
    const { initContainers = [], containers, serviceAccountName = 'default', volumes = [] } = object.spec;
    const claims = workload.spec?.volumeClaimTemplates?.map(({ metadata: { name } }) => name) ?? [];
    const claimed = claims.map((name) => ({
      name,
      directory: join(base, `${workload.metadata.name}-${name}`),
    }));
    const spec = {
      containers,
      volumes: [...claimed, ...volumes.filter(({ name }) => !claims.includes(name))],
    };
    const identity = { name: pod.name, namespace, uid: object.metadata.uid, serviceAccountName, spec };
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

  async function startPod(workload: Workload, of: string): Promise<RunningPod> {
    const pod: RunningPod = { name: `${workload.metadata.name}-${++counter}`, of, restarts: 0 };
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
    return pod;
  }

  async function endPod(workload: string, pod: RunningPod): Promise<void> {
    running.delete(workload);
    await pod.process?.stop();
    logs.set(workload, (logs.get(workload) ?? '') + (pod.process?.log() ?? ''));
    await client.delete(pods, pod.name, inNamespace);
  }

  /** Starts what does not run. */
  async function tend(pod: RunningPod, workload: Workload): Promise<boolean> {
    const hasEnded = pod.process?.exitCode() !== undefined;
    if (hasEnded) pod.restarts++;
    if (hasEnded || !pod.process) {
      pod.trouble = undefined;
      pod.process = undefined;
      await startProcess(pod, workload).catch((error: unknown) => void (pod.trouble = String(error)));
    }
    return (await pod.process?.isReady()) ?? false;
  }

  /** Pod and workload as kubelet and controller would show them. */
  async function show(
    { resource, workload }: { resource: Resource; workload: Workload },
    { name, trouble, restarts }: RunningPod,
    ready: boolean,
  ): Promise<void> {
    const state = trouble
      ? { waiting: { reason: 'CreateContainerConfigError', message: trouble } }
      : { running: {} };
    const [{ name: of = '' } = {}] = workload.spec?.template.spec.containers ?? [];
    const container = { name: of, image: '', imageID: '', ready, restartCount: restarts, state };
    const podStatus = { phase: trouble ? 'Pending' : 'Running', containerStatuses: [container] };
    const asStatus = { ...inNamespace, subresource: 'status' };
    await client.mergePatch(pods, name, { status: podStatus }, asStatus);
    const [replicas, count] = [1, ready ? 1 : 0];
    const observedGeneration = workload.metadata.generation;
    const counts = { updatedReplicas: replicas, readyReplicas: count, availableReplicas: count };
    const status = { observedGeneration, replicas, ...counts };
    await client.mergePatch(resource, workload.metadata.name ?? '', { status }, asStatus);
  }

  async function look(): Promise<void> {
    const lists = [statefulSets, resources.deployments].map(async (resource) => {
      const found = await client.list<Workload>(resource, inNamespace);
      return found.map((workload) => ({ resource, workload }));
    });
    const wanted = (await Promise.all(lists)).flat();
    for (const [name, pod] of running)
      if (!wanted.some(({ workload }) => workload.metadata.name === name)) await endPod(name, pod);
    if (wanted.length > 0) await asControllerManager(client, namespace);
    const tending = wanted.map(async ({ resource, workload }) => {
      const { name = '', uid } = workload.metadata;
      const of = `${uid} ${JSON.stringify(workload.spec?.template)}`;
      const before = running.get(name);
      if (before && before.of !== of) await endPod(name, before);
      const pod = running.get(name) ?? (await startPod(workload, of));
      running.set(name, pod);
      await show({ resource, workload }, pod, await tend(pod, workload));
    });
    for (const outcome of await Promise.allSettled(tending))
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
    log: (workload) =>
      [logs.get(workload), running.get(workload)?.process?.log(), ...refusals.slice(-5)].join('\n'),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await living;
      // NATS last: services say goodbye to it.
      for (const pod of [...running.values()].toReversed()) await pod.process?.stop();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
