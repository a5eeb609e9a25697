import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { readState } from '../private-files.ts';

/** Where `rollcall restore` puts a hub together, inside the state directory that it is for. */
export const restoringDirectory = 'restoring';
/** What was there before a restore is kept under names that begin so. */
export const movedAsidePrefix = 'before-restore-';

/**
 * Whether a restore was killed while it put the new hub in the place of the old one: that one's `hub.json` goes first, and the
 * new one's comes last.
 */
export function isHalfRestored(stateDir: string): boolean {
  return existsSync(join(stateDir, restoringDirectory)) && !existsSync(join(stateDir, 'hub.json'));
}

/** @throws RollcallError RESTORE_UNFINISHED: what is there is neither the old hub nor the new one */
export function refuseHalfRestored(stateDir: string): void {
  if (!isHalfRestored(stateDir)) return;
  throw new RollcallError(
    'RESTORE_UNFINISHED',
    `a restore into "${stateDir}" was interrupted in its last step`,
  );
}

/** Directories of hubs that were put aside, the newest first. */
export function hubsPutAside(stateDir: string): string[] {
  const found = existsSync(stateDir) ? readdirSync(stateDir) : [];
  const aside = found.filter((name) => name.startsWith(movedAsidePrefix)).toSorted();
  return aside.toReversed().map((name) => join(stateDir, name));
}

/**
 * Epochs of every hub that this directory knows of: the one that is there, one that was being made, and those put aside.
 * @returns undefined for one whose file is damaged: a backup is put back for that
 */
export function knownEpochs(stateDir: string): (number | undefined)[] {
  return [stateDir, join(stateDir, restoringDirectory), ...hubsPutAside(stateDir)].map((directory) => {
    try {
      return readState<{ epoch?: number }>(join(directory, 'hub.json'))?.epoch ?? 0;
    } catch (error) {
      if (error instanceof RollcallError && error.code === 'STATE_INVALID') return undefined;
      throw error;
    }
  });
}

/** A restore of a hub in a cluster that has begun: until it is over, its services get no identity, and cannot run. */
export interface RestoreInPods {
  readonly hubId: string;
  /** Which backup: no other one goes on in its place. */
  readonly takenAtMs: number;
  readonly epoch: number;
  /** Of the account of the agents, as the servers had them: who was put out since the backup is on that list, and stays out. */
  readonly agentClaims?: string;
}

/**
 * Whoever gives services an identity asks here first.
 * @throws RollcallError RESTORE_UNFINISHED
 */
export function refuseRestoreUnderWay(stateDir: string): void {
  if (!restoreInPodsUnderWay(stateDir)) return;
  const message = `a restore of the hub whose keys are in "${stateDir}" is not over, and its services do not run`;
  throw new RollcallError('RESTORE_UNFINISHED', message);
}

/** In the directory with the keys. */
export const restoreNote = 'restore.json';

/** @returns undefined: none is under way, and the services of a hub in a cluster may run */
export function restoreInPodsUnderWay(stateDir: string): RestoreInPods | undefined {
  return existsSync(join(stateDir, 'hub.json'))
    ? readState<RestoreInPods>(join(stateDir, restoreNote))
    : undefined;
}
