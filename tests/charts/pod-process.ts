import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { V1Container } from '@kubernetes/client-node';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { valueAt } from '../../cli/install/condition.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { filesOf, type Pod, readData } from './pod-files.ts';

const cliMain = join(import.meta.dirname, '..', '..', 'cli', 'main.ts');
const serviceAccountMount = '/var/run/secrets/kubernetes.io/serviceaccount';
const endsWithinMs = 15_000;
/** Pods of one workload each have an address of this machine. */
export const podAddress = (index: number): string => `127.0.0.${index + 1}`;
/** The names of pods of a StatefulSet. */
const podName = /\b[a-z-]+-(\d)\.[a-z-]+\.[a-z-]+\.svc\b/g;

/** Why a container does not start, in the words of the kubelet. */
export class NotStarted extends Error {
  readonly reason: 'CreateContainerConfigError' | 'FailedMount' | 'ImagePullBackOff';
  constructor(reason: NotStarted['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

const because = (reason: NotStarted['reason'], about: string) => (error: Error) => {
  throw new NotStarted(reason, `${about}${error.message}`);
};

/** A container as a process. */
export type PodProcess = Awaited<ReturnType<typeof startContainer>>;

async function answers({ readinessProbe, ports = [] }: V1Container, host: string): Promise<boolean> {
  const { httpGet, tcpSocket } = readinessProbe ?? {};
  const name = httpGet?.port ?? tcpSocket?.port;
  const port = ports.find((one) => one.name === name)?.containerPort ?? 0;
  if (httpGet) return (await fetch(`http://${host}:${port}${httpGet.path}`)).ok;
  const socket = tcpSocket && connect(port, host);
  if (socket) await once(socket, 'connect').finally(() => socket.destroy());
  return true;
}

/**
 * Starts a container of a pod as a process with what the pod declares, and nothing of ours. Nothing can be mounted without being
 * root, so paths below a mount become paths below the pod's directory wherever the pod says them, and the names of the API server
 * and of pods become addresses; the product is told of the one mount that it knows by heart, that of the ServiceAccount.
 */
export async function startContainer(
  client: KubeClient,
  pod: Pod,
  { container, base, logPath }: { container: V1Container; base: string; logPath: string },
) {
  const { name: ofPod, namespace } = pod.metadata;
  const { image = '' } = container;
  // A name that no registry can have (RFC 6761).
  if (image.split('/')[0]?.endsWith('.invalid'))
    throw new NotStarted('ImagePullBackOff', `Back-off pulling image "${image}"`);
  const mounts = (pod.spec?.volumes ?? []).flatMap((volume) => {
    // What is claimed outlives the pod.
    const place = join(base, volume.persistentVolumeClaim?.claimName ?? join(ofPod, volume.name));
    const found = (container.volumeMounts ?? []).filter(({ name }) => name === volume.name);
    return found.map(({ mountPath }) => ({ volume, mountPath, place }));
  });
  const { hostname, port, host } = new URL(client.access.server);
  // The longer first: one mount may begin as another does.
  const longest = mounts.toSorted((one, other) => other.mountPath.length - one.mountPath.length);
  const placed = (text: string) =>
    longest
      .reduce((moved, { mountPath, place }) => moved.replaceAll(mountPath, place), text)
      .replaceAll('kubernetes.default.svc', host)
      .replaceAll(podName, (_name, index) => podAddress(Number(index)));
  async function write(some: typeof mounts): Promise<void> {
    for (const { volume, place } of some) {
      mkdirSync(place, { recursive: true });
      const sources = volume.persistentVolumeClaim ? [] : (volume.projected?.sources ?? [volume]);
      const files = await Promise.all(sources.map((source) => filesOf(client, pod, source)));
      for (const [path, content] of files.flatMap((of) => Object.entries(of))) {
        // Whole or not at all: it may be read meanwhile.
        writeFileSync(join(place, `${path}.next`), placed(content), { mode: 0o600 });
        renameSync(join(place, `${path}.next`), join(place, path));
      }
    }
  }
  const cwd = join(base, ofPod);
  mkdirSync(cwd, { recursive: true });
  for (const mount of mounts)
    await write([mount]).catch(
      because('FailedMount', `MountVolume.SetUp failed for volume "${mount.volume.name}" : `),
    );

  const env: NodeJS.ProcessEnv = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const account = mounts.find(({ mountPath }) => mountPath === serviceAccountMount);
  if (account) env['ROLLCALL_SERVICE_ACCOUNT_DIR'] = account.place;
  for (const { name, value = '', valueFrom: { secretKeyRef, fieldRef } = {} } of container.env ?? []) {
    env[name] = fieldRef ? String(valueAt({ ...pod }, fieldRef.fieldPath)) : placed(value);
    if (!secretKeyRef) continue;
    const reading = readData(client, 'secrets', { name: secretKeyRef.name, namespace });
    const data = await reading.catch(because('CreateContainerConfigError', ''));
    env[name] = data[secretKeyRef.key];
  }
  // No command: the ENTRYPOINT of the Dockerfile.
  const { command, args = [] } = container;
  const program = command?.[0] === 'nats-server' ? [findBinary('nats-server')] : [process.execPath, cliMain];
  const [file = '', ...all] = [...program, ...args].map(placed);
  const log = openSync(logPath, 'a');
  const child = spawn(file, all, { cwd, env, stdio: ['ignore', log, log] });
  closeSync(log);
  const exit = once(child, 'exit');
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    hasEnded,
    exitCode: () => exit.then(([code]: (number | null)[]) => code),
    isReady: async () => !hasEnded() && answers(container, pod.status?.podIP ?? '').catch(() => false),
    /** Writes its Secrets again, as they are now. */
    refresh: () => write(mounts.filter(({ volume }) => volume.secret)),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), endsWithinMs);
      await exit;
      clearTimeout(late);
    },
  };
}
