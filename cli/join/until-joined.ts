import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';
import { waitForObject } from '../wait-for-object.ts';
import { takeBack } from './hub-objects.ts';

/** Of a cluster that the hub reaches by itself: in the order in which they come true. */
const steps = ['Hosted', 'Accepted', 'Ready'] as const;
const phases = { Hosted: 'host', Accepted: 'approve', Ready: 'ready' } as const;

function conditionOf({ status }: ManagedCluster, type: string) {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** What a refused kubeconfig or another cluster needs is a person, and no time. */
const finalReasons = new Set(['KubeconfigRefused', 'MemberOther', 'MemberTooOld', 'AddressRefused']);

/** The hub takes the object for no cluster: another one has its id or its name. */
const takenCodes = {
  IdTaken: 'ID_TAKEN',
  IdMismatch: 'ID_TAKEN',
  NameTaken: 'NAME_TAKEN',
  NameReserved: 'NAME_TAKEN',
} as const;
const isTaken = (reason: string): reason is keyof typeof takenCodes => Object.hasOwn(takenCodes, reason);

/** Time was up, and nothing was refused: what was made stays, and the hub goes on with it. */
export const isOnlyLate = (error: unknown): boolean =>
  error instanceof RollcallError && (error.code === 'REQUEST_HELD' || error.code === 'DEADLINE_EXCEEDED');

/** Nothing would ever come of it, and it would stand in the list beside the cluster that has the member. */
async function takeBackRefused(client: KubeClient, refused: StoredObject<ManagedCluster>): Promise<void> {
  const { name, uid } = refused.metadata;
  try {
    await takeBack(client, { name, uid });
    say(`[hub] what was made for "${name}" is taken away again`);
  } catch {
    say(`[hub] what was made for "${name}" could not be taken away again: \`rollcall unregister ${name}\``);
  }
}

/**
 * Waits until the hub has the member, and says each step. What the hub takes for no cluster is taken away again.
 * @param options.goOn - what somebody types whose time was up
 * @throws RollcallError MEMBER_KUBECONFIG_REFUSED, ID_TAKEN, NAME_TAKEN; when time is up REQUEST_HELD, or DEADLINE_EXCEEDED with what is in the way
 */
export async function untilJoined(
  client: KubeClient,
  name: string,
  { timeoutMs, goOn }: { timeoutMs: number; goOn: string },
): Promise<StoredObject<ManagedCluster>> {
  const told = new Set<string>();
  let inTheWay = 'the hub has not looked at it yet';
  let isHeld = false;
  let refusal: RollcallError | undefined;
  let isNoCluster = false;
  const isThere = (cluster: StoredObject<ManagedCluster>): boolean => {
    const accepted = conditionOf(cluster, 'Accepted');
    if (accepted?.status === 'False' && isTaken(accepted.reason)) {
      refusal = new RollcallError(takenCodes[accepted.reason], printable(accepted.message));
      isNoCluster = true;
      return true;
    }
    for (const step of steps) {
      const condition = conditionOf(cluster, step);
      const text = printable(`${condition?.reason ?? 'Unknown'}, ${condition?.message ?? ''}`);
      const line = `[${phases[step]}] ${text}`;
      if (
        condition &&
        condition.reason !== 'Waiting' &&
        !told.has(line) &&
        condition.reason !== 'NeverSeen'
      ) {
        told.add(line);
        say(line);
      }
      if (condition?.status === 'True') continue;
      inTheWay = text;
      // Once the hub reaches it, nothing but a person keeps a cluster from being accepted for long.
      isHeld = step === 'Accepted' && condition !== undefined;
      if (step === 'Hosted' && condition && finalReasons.has(condition.reason))
        refusal = new RollcallError('MEMBER_KUBECONFIG_REFUSED', condition.message);
      return refusal !== undefined;
    }
    return true;
  };
  const cluster = await waitForObject<ManagedCluster>(
    client,
    { resource: resources.managedClusters, name, timeoutMs },
    isThere,
  );
  if (cluster && isNoCluster) await takeBackRefused(client, cluster);
  if (refusal) throw refusal;
  if (cluster) return cluster;
  const message = `the cluster "${name}" is not Ready within ${timeoutMs / 1000} s: ${inTheWay}; ${goOn}`;
  throw new RollcallError(isHeld ? 'REQUEST_HELD' : 'DEADLINE_EXCEEDED', message);
}
