import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { someNames } from '../terminal/some-names.ts';
import { type RotatedKey, rotatedKeys } from '../up/state/hub-state.ts';
import { type KeysFlags, type OpenedHub, openHubAnywhere } from '../install/hub/hub-in-pods.ts';
import type { HubFiles } from './hub-files.ts';
import { rotateReplyKey } from './rotate-reply-key.ts';
import { agentConnections } from './agent-connections.ts';
import { announceAgain, announceCa, dropFormerCa, switchCa } from './rotate-ca.ts';
import { learnedByRenewal, noteLongestLife } from './longest-life.ts';
import { listToServers, rotateOperatorKeys } from './rotate-operator-keys.ts';
import { announceServiceKeys, dropServiceKeys } from './rotate-service-keys.ts';
import { announceSigningKeys, dropSigningKeys, switchSigningKeys } from './rotate-signing-keys.ts';
import { type RotationStep, rotationStep } from './rotation-step.ts';
import { refuseRestoreUnderWay } from '../up/state/half-restored.ts';
import { lockState } from '../up/state/state-lock.ts';
import { whoRotates } from './who-rotates.ts';

export interface RotateFlags extends KeysFlags {
  readonly dryRun?: boolean;
  /** Also what is not due yet: in an emergency, when it is worse to wait. */
  readonly now?: boolean;
}

const newHub =
  'if it has leaked, set up a new hub, with new keys; every cluster registers again (docs/security/rotate.md, "What cannot be replaced yet")';
/** Keys that people may look for here, and why there is no step for them (ADR 5). */
const cannotRotate: Readonly<Record<string, string>> = {
  'account-keys': `every credential of an agent names its account by that key, so that a new one would cut off all of them at once; ${newHub}`,
  'callout-keys': `the server takes one user and one sealing key for its callouts, and reads both from account AUTH alone; ${newHub}`,
};

function keyNamed(text: string): RotatedKey {
  const key = rotatedKeys.find((name) => name === text);
  if (key) return key;
  const why = cannotRotate[text];
  if (why !== undefined) throw new RollcallError('USAGE', `"${text}" cannot be rotated: ${why}`);
  throw new RollcallError('USAGE', `"${text}" is no key that can be rotated: ${rotatedKeys.join(', ')}`);
}

/** Of the step that comes next. */
function nextDueAt(files: HubFiles, key: RotatedKey): string {
  const { rotations, credentialLives } = files.read('hub');
  return new Date(rotationStep(key, rotations?.[key], credentialLives).dueAtMs).toISOString();
}

/** @returns what people are told then */
async function rotateSigningKeys(files: HubFiles, { kind }: RotationStep, isNow: boolean): Promise<string> {
  if (kind !== 'drop') {
    if (kind === 'announce') await announceSigningKeys(files, Date.now());
    await switchSigningKeys(files, Date.now());
    if (!isNow) {
      return `the next generation signs; run the same command again to drop the former one, from ${nextDueAt(files, 'signing-keys')} on`;
    }
    // A registrar that is cut off before it has its keys would be refused on the way back, and rest for minutes.
    await files.publish();
    await delay(files.readWithinMs);
  }
  await dropSigningKeys(files);
  return 'the former generation is dropped; credentials that it signed are void';
}

const hearingUnknown =
  'whether agents have heard of the next CA is not known, as the hub does not answer: start it first';

/** @returns for people, and whether some of those that are connected would be cut off; undefined where the hub does not answer */
async function whoHeardOfCa(files: HubFiles): Promise<{ says: string; isEach: boolean } | undefined> {
  const announcedAtMs = files.read('hub').rotations?.ca?.atMs ?? 0;
  const agents = await agentConnections(files).catch(() => undefined);
  if (agents === undefined) return undefined;
  const { heard, unheard } = agents.hearing(announcedAtMs);
  const others = unheard.length === 0 ? '' : `; not yet: ${someNames(unheard)}`;
  return {
    says: `${heard} connected agents have heard of the next CA${others}`,
    isEach: unheard.length === 0,
  };
}

/** A day has passed; but the hub may have been stopped meanwhile, and who has not heard would have to be told the new hash by a person. */
export async function checkAgentsHeard(files: HubFiles): Promise<void> {
  const agents = await whoHeardOfCa(files);
  if (agents === undefined) throw new RollcallError('ROTATION_NOT_DUE', hearingUnknown);
  if (!agents.isEach) throw new RollcallError('ROTATION_NOT_DUE', agents.says);
}

async function rotateCa(files: HubFiles, { kind }: RotationStep, isNow: boolean): Promise<string> {
  if (kind === 'announce') {
    await announceCa(files);
    return `the next CA is announced; run the same command again to switch to it, from ${nextDueAt(files, 'ca')} on`;
  }
  if (kind === 'switch') {
    if (!isNow) await checkAgentsHeard(files);
    // A service that knows the former one alone would not come back.
    else {
      // By a clock that was ahead it would never come.
      const leftMs = Math.min((files.read('hub').rotations?.ca?.atMs ?? 0) - Date.now(), files.readWithinMs);
      if (leftMs > 0) {
        say(`  - waiting until every service has read the next CA (${Math.ceil(leftMs / 1000)} s)`);
        await delay(leftMs);
      }
    }
    switchCa(files, Date.now());
  }
  const isShown = await dropFormerCa(files, Date.now());
  const { caCertHash } = files.read('hub');
  return `${isShown ? 'the server shows' : 'the next start of the hub shows'} a certificate of the next CA, ${caCertHash}; the former one is forgotten`;
}

async function take(
  files: HubFiles,
  key: RotatedKey,
  { step, isNow }: { step: RotationStep; isNow: boolean },
): Promise<string> {
  switch (key) {
    case 'signing-keys':
      return rotateSigningKeys(files, step, isNow);
    case 'service-keys':
      if (step.kind === 'drop') {
        await dropServiceKeys(files, { nowMs: Date.now(), isNow });
        return 'the former key is dropped; users that it signed are void';
      }
      await announceServiceKeys(files, Date.now());
      return 'services take their new users within seconds; run the same command again to void the former ones';
    case 'ca':
      return rotateCa(files, step, isNow);
    case 'reply-key':
      rotateReplyKey(files, Date.now());
      return 'the next reply key signs, within seconds; the former one is deleted';
    case 'operator-keys':
      if (step.kind !== 'drop') await rotateOperatorKeys(files, Date.now());
      return (await listToServers(files))
        ? 'the other operator key signs, and the servers have a list without the former one'
        : 'the other operator key signs; restart the hub, so that its list is without the former one';
  }
}

const lifeUnknown =
  'no registrar says how long credentials live, so when everybody has renewed is not known: start the hub first';

async function takeStep(key: RotatedKey, flags: RotateFlags, { files, client }: OpenedHub): Promise<void> {
  const isLifeKnown = !learnedByRenewal.has(key) || (await noteLongestLife(files));
  const { rotations, credentialLives } = files.read('hub');
  const step = rotationStep(key, rotations?.[key], credentialLives);
  const isNow = flags.now ?? false;
  // What was stopped cuts nobody off any more.
  const isFinishing = key === 'ca' && step.kind === 'drop';
  const dueAt = new Date(step.dueAtMs).toISOString();
  const isDue = step.dueAtMs <= Date.now();
  say(`${key}: ${step.kind}${isDue ? '' : `, due at ${dueAt}`}`);
  for (const sentence of step.says) say(`  - ${sentence}`);
  if (!isLifeKnown && !isFinishing) say(`  - ${lifeUnknown}`);
  if (key === 'ca' && step.kind === 'switch')
    say(`  - ${(await whoHeardOfCa(files))?.says ?? hearingUnknown}`);
  if (flags.dryRun === true) {
    const early =
      !isLifeKnown && !isFinishing ? '; now it takes --now' : isDue ? '' : `; before ${dueAt} it takes --now`;
    printResult(`nothing was changed${early}`);
    return;
  }
  // Whoever was stopped before services had what was decided gives it to them now, due or not.
  if (key === 'ca') announceAgain(files, Date.now());
  await files.publish();
  if (!isDue && !isNow) {
    throw new RollcallError('ROTATION_NOT_DUE', `the next step of "${key}" is due at ${dueAt}`);
  }
  if (!isLifeKnown && !isNow && !isFinishing) throw new RollcallError('ROTATION_NOT_DUE', lifeUnknown);
  const rotatedBy = await whoRotates(files.stateDir, client);
  files.change('account-controller', (identity) => ({ ...identity, rotatedBy }));
  const result = await withProgress(`rotating ${key}`, take(files, key, { step, isNow }));
  if (learnedByRenewal.has(key)) await noteLongestLife(files);
  await files.publish();
  printResult(result);
}

/**
 * Takes the next step of one key's rotation, on the machine that holds the hub's keys.
 * @throws RollcallError ROTATION_NOT_DUE while it would cut somebody off, DEADLINE_EXCEEDED where servers do not start, and what the step itself throws
 */
export async function rotate(
  name: string,
  flags: RotateFlags,
  stateDir = flags.keys ?? stateDirectory(),
): Promise<void> {
  const key = keyNamed(name);
  const hub = await openHubAnywhere(stateDir, flags);
  let unlock: (() => void) | undefined;
  try {
    // Of two that begin the same at once, the one would replace what the other has announced. Of a hub on this machine the process
    // that runs it has the directory.
    unlock = lockState(stateDir, hub.client ? 'up.lock' : 'rotate.lock');
    refuseRestoreUnderWay(stateDir);
    await takeStep(key, flags, hub);
  } finally {
    unlock?.();
    hub.close();
  }
}
