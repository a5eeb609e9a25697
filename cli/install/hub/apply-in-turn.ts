import { setTimeout as delay } from 'node:timers/promises';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { withProgress } from '../../terminal/progress.ts';
import type { ObjectNote } from '../counted-objects.ts';
import { statefulSets } from '../workloads.ts';
import { untilAllRun } from './until-all-run.ts';
import { makeVolumeClaims } from './volume-claims.ts';

const atOnce = 8;

/** The NATS servers, which everything else that runs needs. */
export const areServers = ({ kind, metadata }: KubeObject): boolean =>
  kind === statefulSets.kind && metadata.name === 'rollcall-nats';

const turnOfKind: Readonly<Record<string, number>> = {
  [resources.customResourceDefinitions.kind]: 0,
  [statefulSets.kind]: 3,
  [resources.deployments.kind]: 3,
  [resources.apiServices.kind]: 4,
};
const turnOfServers = 2;
const turnOfOthers = 1;
/** A small fleet is back so soon after its server is; services that start beside it would take the processors that its handshakes need. */
const fleetReturnsWithinMs = 2500;

/**
 * First the kinds, last what runs: the admission policies are there before the services. And the servers before the services: where
 * both start anew together, agents are without a hub for as long as the services take to start. At the end what the API server passes
 * on to one of them.
 */
export const turnOf = (object: KubeObject): number =>
  areServers(object) ? turnOfServers : (turnOfKind[object.kind] ?? turnOfOthers);

/**
 * Applies the objects of a hub.
 * @param options.timeoutMs - how long servers that start anew are waited for; undefined: not at all
 * @throws as makeVolumeClaims, applyManifests and untilAllRun
 */
export async function applyInTurn(
  client: KubeClient,
  objects: readonly KubeObject[],
  { timeoutMs }: { timeoutMs: number | undefined },
): Promise<ObjectNote[]> {
  await makeVolumeClaims(client, objects);
  const applied: ObjectNote[] = [];
  for (const turn of [0, 1, 2, 3, 4]) {
    const now = objects.filter((object) => turnOf(object) === turn);
    const notes = await withProgress('applying the hub', applyManifests(client, now, { atOnce }));
    applied.push(...notes);
    const startAnew = turn === turnOfServers && notes.some(({ outcome }) => outcome === 'changed');
    if (!startAnew || timeoutMs === undefined) continue;
    await untilAllRun(client, now, timeoutMs);
    await withProgress('letting the agents come back', delay(fleetReturnsWithinMs));
  }
  return applied;
}
