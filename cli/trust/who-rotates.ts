import { hostname, userInfo } from 'node:os';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { userName } from '../decide/user-name.ts';
import type { AccountControllerIdentity } from './hub-files.ts';
import { askOwnApiServer } from './own-api-server.ts';

/** Whom the operating system runs us as: not every number that a container runs as has an account. */
export function account(ask: () => { readonly username: string } = userInfo): string {
  try {
    return ask().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Who takes the step, for the events: as the hub's API server knows this person, and the account and machine it runs on. Whoever
 * can write the keys could write another name; it is history for people, and nothing is decided by it (ADR 11).
 * @param onHub - the client of a person who acts on the hub anyway
 */
export async function whoRotates(
  stateDir: string,
  onHub?: KubeClient,
): Promise<NonNullable<AccountControllerIdentity['rotatedBy']>> {
  // Keys are rotated while the hub does not run, too.
  const asked = onHub ? userName(onHub) : askOwnApiServer(stateDir, userName);
  const person = await asked.catch(() => undefined);
  return { person: person ?? `local:${account()}`, from: `${account()}@${hostname()}` };
}
