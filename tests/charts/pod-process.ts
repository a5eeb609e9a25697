import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { findBinary } from '../../cli/up/binaries.ts';
import { type PodIdentity, readData, type Volume, writeVolume } from './pod-files.ts';

export interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: {
      readonly secretKeyRef?: { name: string; key: string };
      readonly fieldRef?: { fieldPath: string };
    };
  }[];
  readonly volumeMounts?: readonly { name: string; mountPath: string }[];
  readonly ports?: readonly { name: string; containerPort: number }[];
  readonly readinessProbe?: {
    readonly httpGet?: { path: string; port: string };
    readonly tcpSocket?: { port: string };
  };
}
export interface PodSpec {
  readonly serviceAccountName?: string;
  readonly volumes?: readonly Volume[];
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

/** What the ENTRYPOINT of the Dockerfile is, or the command that a container says. */
function programOf({ command, args = [] }: Container): readonly string[] {
  if (command?.[0] === 'nats-server') return [findBinary('nats-server'), ...args];
  return [process.execPath, join(import.meta.dirname, '..', '..', 'cli', 'main.ts'), ...args];
}
const serviceAccountMount = '/var/run/secrets/kubernetes.io/serviceaccount';
const endsWithinMs = 15_000;
const fieldsOfPods: Readonly<Record<string, 'name' | 'ip'>> = {
  'metadata.name': 'name',
  'status.podIP': 'ip',
};

/** Pods of one workload each have an address of this machine. */
export const podAddress = (index: number): string => `127.0.0.${index + 1}`;
/** The names of pods of a StatefulSet. */
const podName = /\b[a-z-]+-(\d)\.[a-z-]+\.[a-z-]+\.svc\b/g;

/** A container as a process. */
export interface PodProcess {
  /** Undefined while it runs. */
  exitCode(): number | undefined;
  readonly ended: Promise<unknown>;
  isReady(): Promise<boolean>;
  /** Writes its Secrets again, as they are now. */
  refresh(): Promise<void>;
  log(): string;
  stop(): Promise<void>;
}

function answers(container: Container, ip: string): Promise<boolean> {
  const { httpGet, tcpSocket } = container.readinessProbe ?? {};
  const name = httpGet?.port ?? tcpSocket?.port;
  if (name === undefined) return Promise.resolve(true);
  const port = container.ports?.find((one) => one.name === name)?.containerPort ?? 0;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  if (httpGet) {
    const request = get({ host: ip, port, path: httpGet.path }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
  } else {
    const socket = connect(port, ip, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  }
  return promise;
}

/**
 * Starts a container of a pod as a process with what the pod declares, and nothing of ours. Nothing can be mounted without being
 * root, so paths below a mount become paths below the pod's directory wherever the pod says them, and the names of the API server
 * and of pods become addresses; the product is told of the one mount that it knows by heart, that of the ServiceAccount.
 */
export async function startContainer(
  client: KubeClient,
  pod: PodIdentity & { spec: PodSpec },
  { container, directory }: { container: Container; directory: string },
): Promise<PodProcess> {
  mkdirSync(directory, { recursive: true });
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath }) => {
    const volume = pod.spec.volumes?.find((one) => one.name === name);
    if (!volume) throw new Error(`there is no volume "${name}"`);
    return { volume, mountPath, place: volume.directory ?? join(directory, 'volumes', name) };
  });
  const { hostname, port, host } = new URL(client.access.server);
  const replaced = [
    ...mounts.map((one) => [one.mountPath, one.place] as const),
    ['kubernetes.default.svc', host],
  ];
  // The longer first: one mount may begin as another does.
  const longest = replaced.toSorted(([one = ''], [other = '']) => other.length - one.length);
  const placed = (text: string) =>
    longest
      .reduce((moved, [from = '', to = '']) => moved.replaceAll(from, to), text)
      .replaceAll(podName, (_name, index) => podAddress(Number(index)));
  for (const { volume, place } of mounts) await writeVolume(client, pod, { volume, place, placed });

  const environment: Record<string, string> = {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
  };
  const account = mounts.find(({ mountPath }) => mountPath === serviceAccountMount);
  if (account) environment['ROLLCALL_SERVICE_ACCOUNT_DIR'] = account.place;
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const reference = valueFrom?.secretKeyRef;
    const where = { name: reference?.name ?? '', namespace: pod.namespace };
    const data = reference && (await readData(client, 'secret', where));
    const field = fieldsOfPods[valueFrom?.fieldRef?.fieldPath ?? ''];
    environment[name] = data ? String(data[reference.key]) : field ? pod[field] : placed(value);
  }

  const logPath = join(directory, `${container.name}.log`);
  const log = createWriteStream(logPath, { flags: 'a' });
  const [program = '', ...args] = programOf(container).map(placed);
  const child = spawn(program, args, { cwd: directory, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let exitCode: number | undefined;
  child.once('close', (code: number | null) => {
    exitCode = code ?? 128;
    log.end();
  });
  const ended = once(child, 'close');
  return {
    ended,
    exitCode: () => exitCode,
    isReady: async () => exitCode === undefined && (await answers(container, pod.ip)),
    async refresh() {
      const secrets = mounts.filter(({ volume }) => volume.secret !== undefined);
      for (const { volume, place } of secrets) await writeVolume(client, pod, { volume, place, placed });
    },
    log: () => readFileSync(logPath, 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), endsWithinMs);
      await ended;
      clearTimeout(late);
    },
  };
}
