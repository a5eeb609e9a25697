import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deployFolder } from '@rollcall/shared/admission/deploy-folder';
import {
  applyManifests,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { parse } from 'yaml';
import type { HubState } from './state/hub-state.ts';

/** The YAML texts of a folder of `deploy/`, in the order of their names. */
export function manifestsIn(...path: string[]): string[] {
  const directory = join(deployFolder, ...path);
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => readFileSync(join(directory, file), 'utf8'));
}

/** Namespace, account and rights of an agent, without what is for pods: these two files are whole as they stand. */
export function agentAccountManifests(): string[] {
  return ['00-namespace.yaml', 'rbac.yaml'].map((file) =>
    readFileSync(join(deployFolder, 'agent', file), 'utf8'),
  );
}

/** What the CLI needs to make tokens and register commands; nothing in it is secret. */
export function hubConfigMap(
  hub: HubState,
  addresses: readonly string[],
): KubeObject & { data: Record<string, string> } {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'rollcall-hub', namespace: 'rollcall-system' },
    data: {
      hubId: hub.hubId,
      addresses: addresses.join(','),
      caBundle: hub.caPem,
      caCertHash: hub.caCertHash,
      epoch: String(hub.epoch),
    },
  };
}

/** Kinds, roles and admission policies of every hub, and what is of this one. */
export async function applyHubManifests(
  client: KubeClient,
  hub: HubState,
  addresses: readonly string[],
): Promise<void> {
  await applyHubKinds(client);
  await applyManifests(client, [hubConfigMap(hub, addresses)]);
}

/** Kinds first, because everything else is of them; the admission policies before anybody can write a decision. */
export async function applyHubKinds(client: KubeClient): Promise<void> {
  const withAttribution = await attributionIsServed(client);
  const kinds = [...manifestsIn('crds'), ...manifestsIn('inventory')];
  await Promise.all(kinds.map((crd) => applyManifests(client, [crd])));
  // Namespaces, by their names.
  await applyManifests(client, manifestsIn('rbac').slice(0, 2));
  await Promise.all(
    [
      ...manifestsIn('rbac').slice(2),
      ...manifestsIn('admission'),
      // Where nobody fills in names, the admission policies compare (principle 9).
      ...(withAttribution ? manifestsIn('admission', 'attribution') : []),
      // The API server makes kube-system by itself, a moment after it is ready.
    ].map((manifest) => onceServed(() => applyManifests(client, [manifest]))),
  );
}

/** Whether the API server can fill in who decided: Kubernetes does from 1.36 on. */
export async function attributionIsServed(client: KubeClient): Promise<boolean> {
  const path = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies?limit=1';
  return (await client.raw(path)).status === 200;
}

const servedWithinMs = 30_000;
const retryAfterMs = 50;

/** 404: the kind is not served yet; 503: its storage is still being made ready (measured, right after the CRD was taken). */
const notServedYet = new Set([404, 503]);

/** An API server takes a new kind some time after it has taken the CRD, also one that lists it already; longer on a busy machine. */
export async function onceServed<Result>(apply: () => Promise<Result>): Promise<Result> {
  for (const deadlineMs = performance.now() + servedWithinMs; ; await delay(retryAfterMs)) {
    try {
      return await apply();
    } catch (error) {
      const isNotServedYet = error instanceof KubeApiError && notServedYet.has(error.status);
      if (!isNotServedYet || performance.now() > deadlineMs) throw error;
    }
  }
}

/**
 * What belongs to people once it is there, so it is made only if it is missing: the sets `default` and `global`, and, for an
 * embedded hub, a policy that lets every valid token in.
 */
export async function createDefaults(client: KubeClient): Promise<void> {
  await Promise.all([
    createSets(client),
    ...manifestsIn('embedded').map((text) => createMissing(client, resources.approvalPolicies, text)),
  ]);
}

/** The same without the policy: whoever installs a hub in a cluster says who may join. */
export async function createSets(client: KubeClient): Promise<void> {
  const sets = manifestsIn('sets');
  await Promise.all(sets.map((text) => createMissing(client, resources.managedClusterSets, text)));
}

async function createMissing(client: KubeClient, resource: Resource, manifest: string): Promise<void> {
  const { name } = (parse(manifest) as { metadata: { name: string } }).metadata;
  const found = await onceServed(() => client.get(resource, { name }));
  if (!found) await onceServed(() => applyManifests(client, [manifest]));
}
