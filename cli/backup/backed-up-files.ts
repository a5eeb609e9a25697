import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { damaged } from './backup-format.ts';

/**
 * What a hub is made of beside its streams: who it is, what signs for it, who its services are, which claims its server had,
 * and the keys of the agent of its own cluster. Everything else in a state directory is made again.
 */
const patterns = [
  /^hub\.json$/,
  /^(ops|inspector)\.creds$/,
  /^ports\.json$/,
  /^identities\/[a-z-]+\.json$/,
  /^offline\/keys\.json$/,
  /^nats\/(next-)?ca-key\.pem$/,
  /^nats\/jwt\/A[A-Z2-7]{55}\.jwt$/,
  /^agent\/agent-state$/,
] as const;
const folders = ['', 'identities', 'offline', 'nats', 'nats/jwt', 'agent'];

/** @returns paths below the state directory, and what stands there */
export function readSecretFiles(stateDir: string): Record<string, string> {
  const paths = folders.flatMap((folder) => {
    const directory = join(stateDir, folder);
    if (!existsSync(directory)) return [];
    return readdirSync(directory).map((name) => (folder === '' ? name : `${folder}/${name}`));
  });
  const ours = paths.filter((path) => patterns.some((pattern) => pattern.test(path)));
  return Object.fromEntries(ours.map((path) => [path, readFileSync(join(stateDir, path), 'utf8')]));
}

/** Of a text that may be anything. */
function hubIdIn(text: string | undefined): unknown {
  try {
    return (JSON.parse(text ?? '') as { hubId?: unknown } | null)?.hubId;
  } catch {
    return undefined;
  }
}

/**
 * @param hubId - of the hub that the backup says it is of, which was compared with the one that is there
 * @throws RollcallError BACKUP_INVALID for a file that is none of these: it would be written where it says; and for another hub's
 */
export function checkSecretFiles(files: Readonly<Record<string, string>>, hubId: string): void {
  for (const path of Object.keys(files)) {
    if (!patterns.some((pattern) => pattern.test(path))) throw damaged(`a file "${path}" belongs to no hub`);
  }
  for (const needed of ['hub.json', 'identities/registrar.json', 'identities/account-controller.json']) {
    if (files[needed] === undefined) throw damaged(`the file "${needed}" of the hub is not in it`);
  }
  if (hubIdIn(files['hub.json']) !== hubId) throw damaged(`the keys in it are not those of hub "${hubId}"`);
}
