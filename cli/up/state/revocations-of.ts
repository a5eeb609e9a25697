import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mostRevocations } from '@rollcall/shared/rights';
import { decodeJwt, keyFingerprint } from '@rollcall/shared/trust';
import type { HubState } from './hub-state.ts';

/** User key → seconds since the epoch: the servers refuse its credentials that were issued until then. */
export type Revocations = Readonly<Record<string, number>>;

/** Of a public key in a claim, as of everything in files that somebody may have changed. */
const isUserKey = (key: string) => /^U[A-Z2-7]{55}$/.test(key);

/** @param claims - of the account of the agents, by whomever it was signed */
export function revocationsOf(claims: string): Revocations {
  const { revocations } = decodeJwt(claims)?.nats ?? {};
  if (typeof revocations !== 'object' || revocations === null) return {};
  const found = Object.entries(revocations as Record<string, unknown>);
  return Object.fromEntries(
    found.filter((entry): entry is [string, number] => isUserKey(entry[0]) && Number.isInteger(entry[1])),
  );
}

/** What the servers of a state directory have of the account, each in its own place. */
function claimsIn(stateDir: string, account: string): string[] {
  const found = existsSync(stateDir) ? readdirSync(stateDir) : [];
  return found
    .filter((name) => /^nats(-\d+)?$/.test(name))
    .map((name) => join(stateDir, name, 'jwt', `${account}.jwt`))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trim());
}

/** Who is on any of some lists is out. The later time counts; where there is no room for all, the last that were taken back stay. */
export function unionOf(lists: readonly Revocations[]): Revocations {
  const until = new Map<string, number>();
  for (const [key, seconds] of lists.flatMap((list) => Object.entries(list)))
    until.set(key, Math.max(seconds, until.get(key) ?? 0));
  const newest = [...until].toSorted(([, a], [, b]) => b - a).slice(0, mostRevocations);
  return Object.fromEntries(newest.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The keys that the hub of a state directory has put out, whatever became of the events that say so. */
export function revocationsIn(stateDir: string, agentsAccount: string): Revocations {
  return unionOf(claimsIn(stateDir, agentsAccount).map(revocationsOf));
}

/** As an event carries them: who belongs to them is looked up in the history that is left. */
export function fingerprintsOut(
  stateDir: string,
  { keys, accountJwts }: Pick<HubState, 'keys' | 'accountJwts'>,
): string[] {
  const given = revocationsOf(accountJwts[keys.agents] ?? '');
  return Object.keys(unionOf([given, revocationsIn(stateDir, keys.agents)])).map(keyFingerprint);
}
