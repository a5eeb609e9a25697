import { readFileSync } from 'node:fs';
import type { V1Container } from '@kubernetes/client-node';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { events } from '../../cli/install/workloads.ts';
import type { Pod } from './pod-files.ts';
import { NotStarted, type PodProcess } from './pod-process.ts';

/**
 * What is in the way of a container, as the kubelet shows it: of volumes it says so in an event, and nothing in the pod.
 * @param said - what has been said in events, each once
 */
export async function waitingFor(
  client: KubeClient,
  { metadata: { name, namespace = '', uid } }: Pod,
  { error, said }: { error: unknown; said: Set<string> },
): Promise<object> {
  const { message } = error as Error;
  const reason = error instanceof NotStarted ? error.reason : 'CreateContainerConfigError';
  if (reason !== 'FailedMount') return { reason, message };
  const once = `${uid} ${message}`;
  if (said.has(once)) return { reason: 'ContainerCreating' };
  const involvedObject = { apiVersion: 'v1', kind: 'Pod', name, namespace, uid };
  const metadata = { generateName: `${name}.`, namespace };
  const about = { type: 'Warning', involvedObject, reason, message, lastTimestamp: new Date().toISOString() };
  await client.create(events, { apiVersion: 'v1', kind: 'Event', metadata, ...about }, { namespace });
  said.add(once);
  return { reason: 'ContainerCreating' };
}

/** How the process of a container ended the last time, and how often one has. */
export interface Ended {
  readonly lastState: object;
  readonly restartCount: number;
}

export async function endOf(
  process: PodProcess,
  { terminationMessagePolicy }: V1Container,
  { logPath, before }: { logPath: string; before: Ended | undefined },
): Promise<Ended> {
  const log = readFileSync(logPath, 'utf8');
  const message = terminationMessagePolicy === 'FallbackToLogsOnError' ? log.slice(-2048) : undefined;
  const exitCode = await process.exitCode();
  const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', message };
  return { lastState: { terminated }, restartCount: (before?.restartCount ?? 0) + 1 };
}
