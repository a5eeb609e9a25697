import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { type PodIdentity, readData, type Volume, writeVolume } from './pod-files.ts';

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { name: string; key: string } };
  }[];
  readonly volumeMounts?: readonly { name: string; mountPath: string }[];
}
export interface PodSpec {
  readonly serviceAccountName: string;
  readonly volumes?: readonly Volume[];
  readonly containers: readonly Container[];
}

/** What the Dockerfile's ENTRYPOINT is. */
const entryPoint = [process.execPath, join(import.meta.dirname, '..', '..', 'cli', 'main.ts')] as const;
const serviceAccountMount = '/var/run/secrets/kubernetes.io/serviceaccount';
const endsWithinMs = 15_000;

/** A container as a process. */
export interface PodProcess {
  /** Undefined while it runs. */
  exitCode(): number | undefined;
  log(): string;
  stop(): Promise<void>;
}

/**
 * Starts the container of a pod as a process with what the pod declares, and nothing of ours. Nothing can be mounted without
 * being root, so paths below a mount become paths below the pod's directory wherever the pod says them; the product is told of
 * the one that it knows by heart, that of the ServiceAccount.
 */
export async function startPodProcess(
  client: KubeClient,
  pod: PodIdentity & { spec: PodSpec },
  directory: string,
): Promise<PodProcess> {
  const { containers, volumes } = pod.spec;
  const [container] = containers;
  if (!container || containers.length > 1) throw new Error('a pod of one container is expected');
  mkdirSync(directory, { recursive: true });
  const places = new Map<string, string>();
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    const volume = volumes?.find((one) => one.name === name);
    if (!volume) throw new Error(`there is no volume "${name}"`);
    places.set(mountPath, await writeVolume(client, pod, { volume, directory }));
  }
  const placed = (text: string) =>
    [...places].reduce((moved, [mountPath, place]) => moved.replaceAll(mountPath, place), text);

  const server = new URL(client.access.server);
  const environment: Record<string, string> = {
    KUBERNETES_SERVICE_HOST: server.hostname,
    KUBERNETES_SERVICE_PORT: server.port,
  };
  const account = places.get(serviceAccountMount);
  if (account !== undefined) environment['ROLLCALL_SERVICE_ACCOUNT_DIR'] = account;
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const reference = valueFrom?.secretKeyRef;
    const data =
      reference && (await readData(client, 'secret', { name: reference.name, namespace: pod.namespace }));
    environment[name] = data ? String(data[reference.key]) : placed(value);
  }

  const logPath = join(directory, 'log');
  const log = createWriteStream(logPath, { flags: 'a' });
  const [program, ...first] = entryPoint;
  const args = [...first, ...(container.args ?? [])].map(placed);
  const child = spawn(program, args, {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  let exitCode: number | undefined;
  child.once('close', (code: number | null) => {
    exitCode = code ?? 128;
    log.end();
  });
  const closed = once(child, 'close');
  return {
    exitCode: () => exitCode,
    log: () => readFileSync(logPath, 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), endsWithinMs);
      await closed;
      clearTimeout(late);
    },
  };
}
