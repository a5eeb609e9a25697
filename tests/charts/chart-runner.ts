import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { V1PodSpec } from '@kubernetes/client-node';
import {
  applyManifests,
  type KubeClient,
  type KubeObject,
  requestAccountToken,
  type Resource,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { pods, statefulSets } from '../../cli/install/workloads.ts';
import type { Pod } from './pod-files.ts';
import { podAddress, type PodProcess, startContainer } from './pod-process.ts';
import { type Ended, endOf, waitingFor } from './pod-status.ts';

type Workload = StoredObject<
  KubeObject<{
    replicas: number;
    template: { metadata?: object; spec: V1PodSpec };
    volumeClaimTemplates?: readonly { metadata: { name: string } }[];
  }>
>;
type Secret = KubeObject & { type?: string; data?: object };

interface RunningPod {
  readonly object: Pod;
  /** As it was when the pod was made. */
  readonly workload: Workload;
  process?: PodProcess;
  /** How many init containers have ended well, and the one that runs. */
  prepared: number;
  preparing?: PodProcess;
  ended?: Ended;
  isReady: boolean;
}

/**
 * Controllers and kubelet of a cluster that has neither: what is applied in a namespace runs as processes, with the tokens, files
 * and variables that it declares. The pods are real objects, so the API server judges them (Pod Security, ServiceAccounts); their
 * processes have the rights that the chart gives, and nothing more.
 */
export interface ChartRunner extends AsyncDisposable {
  /** What the pods of a workload printed, and what was in their way. */
  log(workload: string): string;
  /** What is in the volume of a claim is gone; nobody has it mounted. */
  emptyVolume(claim: string): void;
}

const lookEveryMs = 200;
const templateOf = ({ metadata, spec }: Workload) => `${metadata.uid} ${JSON.stringify(spec?.template)}`;

export function startChartRunner(client: KubeClient, namespace: string): ChartRunner {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-pods-'));
  const logOf = ({ name = '' }: { name?: string }) => join(base, `${name}.log`);
  const where = { namespace };
  const { caPem = '' } = client.access;
  // What every namespace of a whole cluster has.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
  const ofCa = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kube-root-ca.crt', namespace } };
  const rootCa = { ...ofCa, data: { 'ca.crt': caPem } };
  const running = new Map<string, RunningPod>();
  const stopping = new AbortController();
  /** Status by UID. */
  const shown = new Map<string, string>();
  const said = new Set<string>();
  /** Versions of the Secrets that pods have. */
  let mounted = '';

  async function show(resource: Resource, { metadata }: StoredObject, status: object): Promise<void> {
    const text = JSON.stringify(status);
    if (shown.get(metadata.uid) === text) return;
    await client.mergePatch(resource, metadata.name, { status }, { ...where, subresource: 'status' });
    shown.set(metadata.uid, text);
  }

  async function startPod(name: string, podIP: string, workload: Workload): Promise<RunningPod> {
    const { template, volumeClaimTemplates = [] } = workload.spec ?? {};
    const claimed = volumeClaimTemplates.map(({ metadata: claim }) => ({
      name: claim.name,
      persistentVolumeClaim: { claimName: `${claim.name}-${name}` },
    }));
    const spec = { ...template?.spec, volumes: [...(template?.spec.volumes ?? []), ...claimed] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...template?.metadata, name }, spec };
    const made = await client.create<KubeObject>(pods, pod, where);
    const started = { object: { ...made, status: { podIP } } as Pod, workload, prepared: 0, isReady: false };
    running.set(name, started);
    return started;
  }

  async function endPod(name: string): Promise<void> {
    const pod = running.get(name);
    running.delete(name);
    await pod?.preparing?.stop();
    await pod?.process?.stop();
    await client.delete(pods, name, where);
  }

  /**
   * Init containers to their end, one after the other, then the one container. What they wait for may be a pod that has not been
   * seen yet, so nobody waits for them.
   * @returns undefined while one prepares
   */
  async function startProcess(pod: RunningPod): Promise<PodProcess | undefined> {
    const { object, workload } = pod;
    const { initContainers = [], containers = [] } = object.spec ?? {};
    const [last, ...more] = containers;
    if (!last || more.length > 0) throw new Error('a pod of one container is expected');
    const start = (container: typeof last) =>
      startContainer(client, object, { container, base, logPath: logOf(workload.metadata) });
    const next = initContainers[pod.prepared];
    if (!next) return start(last);
    pod.preparing ??= await start(next);
    if (!pod.preparing.hasEnded()) return undefined;
    const code = await pod.preparing.exitCode();
    delete pod.preparing;
    if (code !== 0) throw new Error(`${next.name} has failed`);
    pod.prepared += 1;
    return startProcess(pod);
  }

  /** Starts what does not run, and shows it as the kubelet would. */
  async function tendPod(pod: RunningPod): Promise<RunningPod> {
    const doesRun = pod.process?.hasEnded() === false;
    const [container = { name: '' }] = pod.object.spec?.containers ?? [];
    const { process, ended: before } = pod;
    if (process && !doesRun) {
      pod.ended = await endOf(process, container, { logPath: logOf(pod.workload.metadata), before });
      delete pod.process;
    }
    const waiting = doesRun
      ? undefined
      : await startProcess(pod).then(
          (started) => {
            if (!started) return { reason: 'PodInitializing' };
            pod.process = started;
            return undefined;
          },
          (error: unknown) => waitingFor(client, pod.object, { error, said }),
        );
    pod.isReady = waiting === undefined && (await pod.process?.isReady()) === true;
    const state = waiting === undefined ? { running: {} } : { waiting };
    const status = { name: container.name, ready: pod.isReady, state, ...pod.ended };
    const phase = waiting === undefined ? 'Running' : 'Pending';
    await show(pods, pod.object, { phase, containerStatuses: [status] });
    return pod;
  }

  async function tend(resource: Resource, workload: Workload): Promise<void> {
    const { metadata, spec } = workload;
    const template = templateOf(workload);
    const names = Array.from({ length: spec?.replicas ?? 1 }, (_, index) => `${metadata.name}-${index}`);
    const isOld = (pod?: RunningPod) => pod !== undefined && templateOf(pod.workload) !== template;
    // Another template comes to one pod after the other, the last first, as a StatefulSet does it.
    const old = names.findLast((name) => isOld(running.get(name)));
    if (old !== undefined && names.every((name) => name === old || running.get(name)?.isReady))
      await endPod(old);
    const tended = names.map(async (name, index) =>
      tendPod(running.get(name) ?? (await startPod(name, podAddress(index), workload))),
    );
    for (const [name, { workload: of }] of running)
      if (of.metadata.name === metadata.name && !names.includes(name)) await endPod(name);
    const all = await Promise.all(tended);
    const availableReplicas = all.filter(({ isReady }) => isReady).length;
    const updatedReplicas = all.filter((pod) => !isOld(pod)).length;
    const observed = { observedGeneration: metadata.generation, replicas: all.length, updatedReplicas };
    await show(resource, workload, { ...observed, readyReplicas: availableReplicas, availableReplicas });
  }

  /** Fills those that ask for a token; what pods have mounted follows. */
  async function lookAtSecrets(): Promise<void> {
    const secrets = await client.list<Secret>(resources.secrets, where);
    for (const { type, data, metadata } of secrets) {
      if (type !== 'kubernetes.io/service-account-token' || data !== undefined) continue;
      const name = metadata.annotations?.['kubernetes.io/service-account.name'] ?? '';
      const { token } = await requestAccountToken(client, { name, namespace }, {});
      const stringData = { token, 'ca.crt': caPem, namespace };
      await client.mergePatch(resources.secrets, metadata.name, { stringData }, where);
    }
    const now = secrets.map(({ metadata }) => metadata.resourceVersion).join();
    if (now === mounted) return;
    mounted = now;
    for (const { process } of running.values()) await process?.refresh();
  }

  async function look(): Promise<void> {
    const lists = [statefulSets, resources.deployments].map(async (resource) =>
      (await client.list<Workload>(resource, where)).map((workload) => ({ resource, workload })),
    );
    const wanted = (await Promise.all(lists)).flat();
    const there = new Set((await client.list(pods, where)).map(({ metadata: { uid } }) => uid));
    for (const [name, { workload, object }] of running)
      if (
        !there.has(object.metadata.uid) ||
        !wanted.some((one) => one.workload.metadata.name === workload.metadata.name)
      )
        await endPod(name);
    await lookAtSecrets();
    if (wanted.length > 0 && running.size === 0) await applyManifests(client, [account, rootCa]);
    const tended = wanted.map(({ resource, workload }) =>
      tend(resource, workload).catch((error: unknown) =>
        appendFileSync(logOf(workload.metadata), `${String(error)}\n`),
      ),
    );
    await Promise.all(tended);
  }

  async function live({ signal }: AbortController): Promise<void> {
    // What was deleted while it was looked at is looked at again.
    for (; !signal.aborted; await delay(lookEveryMs, undefined, { signal }).catch(() => undefined))
      await look().catch(() => undefined);
  }
  const living = live(stopping);
  return {
    log: (name) => readFileSync(logOf({ name }), { encoding: 'utf8', flag: 'a+' }),
    emptyVolume: (claim) => rmSync(join(base, claim), { recursive: true, force: true }),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await living;
      // NATS last: services say goodbye to it.
      for (const pod of [...running.values()].toReversed()) {
        await pod.preparing?.stop();
        await pod.process?.stop();
      }
      rmSync(base, { recursive: true, force: true });
    },
  };
}
