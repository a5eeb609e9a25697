import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlreadyExists, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { deployments, pods } from '../../cli/install/workloads.ts';
import { type PodProcess, type PodSpec, startPodProcess } from './pod-process.ts';

type Workload = KubeObject<{ template: { metadata?: object; spec: PodSpec } }>;

interface RunningPod {
  readonly name: string;
  /** Of which workload, and of which of its templates. */
  readonly of: string;
  process?: PodProcess;
  restarts: number;
  /** Why it could not be started. */
  trouble?: string;
}

/**
 * Deployment controller and kubelet of a cluster that has neither: what is applied in a namespace runs as processes, with the
 * tokens, files and variables that it declares. The pods are real objects, so the API server judges them (Pod Security,
 * ServiceAccounts); their processes have the rights that the chart gives, and nothing more.
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
  let counter = 0;

  /** In a whole cluster its controller manager makes it in every namespace. */
  async function makeRootCa(): Promise<void> {
    const metadata = { name: 'kube-root-ca.crt', namespace };
    const data = { 'ca.crt': client.access.caPem };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    await client.create<KubeObject>(resources.configMaps, object, inNamespace).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  async function startProcess(pod: RunningPod): Promise<void> {
    const object = await client.get<KubeObject<PodSpec>>(pods, { name: pod.name, ...inNamespace });
    if (!object?.spec) return;
    const { metadata, spec } = object;
    const identity = { name: pod.name, namespace, uid: metadata.uid, spec };
    const { serviceAccountName } = spec;
    pod.process = await startPodProcess(client, { ...identity, serviceAccountName }, join(base, pod.name));
  }

  async function startPod(workload: Workload, of: string): Promise<RunningPod> {
    const pod: RunningPod = { name: `${workload.metadata.name}-${++counter}`, of, restarts: 0 };
    try {
      await makeRootCa();
      const { metadata, spec } = workload.spec?.template ?? {};
      const object = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: pod.name }, spec };
      await client.create<KubeObject>(pods, object, inNamespace);
      await startProcess(pod);
    } catch (error) {
      pod.trouble = String(error);
    }
    return pod;
  }

  async function endPod(workload: string, pod: RunningPod): Promise<void> {
    running.delete(workload);
    await pod.process?.stop();
    logs.set(workload, (logs.get(workload) ?? '') + (pod.process?.log() ?? ''));
    await client.delete(pods, pod.name, inNamespace);
  }

  /** Pod and Deployment as kubelet and controller would show them. */
  async function show(workload: Workload, { name, trouble, restarts }: RunningPod): Promise<void> {
    const state = trouble
      ? { waiting: { reason: 'CreateContainerConfigError', message: trouble } }
      : { running: {} };
    const container = {
      name: 'agent',
      image: '',
      imageID: '',
      ready: !trouble,
      restartCount: restarts,
      state,
    };
    const podStatus = { phase: trouble ? 'Pending' : 'Running', containerStatuses: [container] };
    const asStatus = { ...inNamespace, subresource: 'status' };
    await client.mergePatch(pods, name, { status: podStatus }, asStatus);
    const available = trouble ? 0 : 1;
    const status = {
      observedGeneration: workload.metadata.generation,
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: available,
      availableReplicas: available,
    };
    await client.mergePatch(deployments, workload.metadata.name ?? '', { status }, asStatus);
  }

  async function look(): Promise<void> {
    const wanted = await client.list<Workload>(deployments, inNamespace);
    for (const [name, pod] of running)
      if (!wanted.some(({ metadata }) => metadata.name === name)) await endPod(name, pod);
    for (const workload of wanted) {
      const { name, uid } = workload.metadata;
      const of = `${uid} ${JSON.stringify(workload.spec?.template)}`;
      const before = running.get(name);
      if (before && before.of !== of) await endPod(name, before);
      const pod = running.get(name) ?? (await startPod(workload, of));
      running.set(name, pod);
      if (pod.process?.exitCode() !== undefined) {
        pod.restarts++;
        await startProcess(pod);
      }
      await show(workload, pod);
    }
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
    log: (workload) => (logs.get(workload) ?? '') + (running.get(workload)?.process?.log() ?? ''),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await living;
      await Promise.all([...running.values()].map((pod) => pod.process?.stop()));
      rmSync(base, { recursive: true, force: true });
    },
  };
}
