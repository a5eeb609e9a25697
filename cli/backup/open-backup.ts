import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { readState } from '../up/private-files.ts';
import { hubsPutAside, isHalfRestored, knownEpochs } from '../up/state/half-restored.ts';
import type { HubState } from '../up/state/hub-state.ts';
import type { BackupHeader } from './backup-format.ts';
import { readSecretFiles } from './backed-up-files.ts';
import { promptPassphrase, readNamedFile } from './prompt-passphrase.ts';
import type { Opener } from './encrypt-keys.ts';

const hubIn = (directory: string) => readState<HubState>(join(directory, 'hub.json'));

/** Of the hub that is there, or of the one that a restore put aside which was stopped in its last step. */
function keysOfHubThere(stateDir: string, header: BackupHeader): Opener {
  const places = isHalfRestored(stateDir) ? hubsPutAside(stateDir) : [stateDir];
  const place = places.find((directory) => existsSync(join(directory, 'hub.json')));
  const there = place === undefined ? undefined : hubIn(place);
  if (place === undefined || !there) {
    throw new RollcallError(
      'BACKUP_WITHOUT_KEYS',
      `the backup has no keys, and there is no hub in "${stateDir}" that has them`,
    );
  }
  checkIsOf(there, header, place);
  return { kind: 'files', files: readSecretFiles(place) };
}

function checkIsOf(there: HubState, header: BackupHeader, directory: string): void {
  if (there.hubId === header.hubId) return;
  const message = `the backup is of hub "${header.hubId}", and what is in "${directory}" is of hub "${there.hubId}"`;
  throw new RollcallError('HUB_WRONG', message);
}

/** What stays of Kubernetes has to be of the same hub: else its objects and policies would speak of another one's clusters. */
export function checkKept(stateDir: string, header: BackupHeader): void {
  if (knownEpochs(stateDir)[0] === undefined) return;
  const there = hubIn(stateDir);
  if (there) checkIsOf(there, header, stateDir);
}

/** What the person gave to open it; how the file is to be opened only the file says, whoever wrote it. */
const openedBy = { passphrase: 'passphraseFile', key: 'keyFile', 'without-keys': undefined } as const;

/** Who knows that the backup is sealed, and by what, takes no other file for it: anybody can write one that nothing seals. */
function checkSealing({ sealing }: BackupHeader, flags: OpeningFlags): void {
  const given = (['passphraseFile', 'keyFile'] as const).filter((flag) => flags[flag] !== undefined);
  if (given.every((flag) => flag === openedBy[sealing.kind])) return;
  const is = sealing.kind === 'without-keys' ? 'not sealed' : `sealed with a ${sealing.kind}`;
  const message = `the backup is ${is}, and what was given is to open another one: it is not the file that you mean`;
  throw new RollcallError('BACKUP_LOCKED', message);
}

export interface OpeningFlags {
  readonly passphraseFile?: string | undefined;
  /** Seed of the X25519 key that the backup was sealed to. */
  readonly keyFile?: string | undefined;
}

/** @throws RollcallError BACKUP_WITHOUT_KEYS, BACKUP_LOCKED, HUB_WRONG, USAGE */
export async function openerOf(header: BackupHeader, flags: OpeningFlags, stateDir: string): Promise<Opener> {
  const { sealing } = header;
  checkSealing(header, flags);
  if (sealing.kind === 'without-keys') return keysOfHubThere(stateDir, header);
  if (sealing.kind === 'passphrase')
    return {
      kind: 'passphrase',
      passphrase: await promptPassphrase({ file: flags.passphraseFile, isNew: false }),
    };
  if (flags.keyFile === undefined)
    throw new RollcallError(
      'BACKUP_LOCKED',
      `the backup is sealed to the key ${sealing.recipient}; give --key-file`,
    );
  return { kind: 'key', seed: readNamedFile(flags.keyFile).trim() };
}
