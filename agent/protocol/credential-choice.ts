import { decodeJwt, jwtIssuedAt } from '@rollcall/shared/trust/keys';
import type { AgentState } from '../keys/key-store.ts';

/** What an agent can show the hub to be let in, and the role that it then has. */
export type Credential =
  | { readonly role: 'member' | 'waiting'; readonly jwt: string }
  /** A token's key and the agent's own. */
  | { readonly role: 'token' }
  /** The agent's own key alone. */
  | { readonly role: 'returning' };

/** A clock that is a little ahead must not make the agent drop what the server would still take. */
const clockToleranceMs = 60_000;

/** Whether a server would take it; one that is damaged it would not. */
export function isAlive(jwt: string | undefined, nowMs: number): jwt is string {
  const claims = jwt === undefined ? undefined : decodeJwt(jwt);
  return claims !== undefined && (claims.exp === undefined || claims.exp * 1000 + clockToleranceMs > nowMs);
}

/**
 * What to show, best first. A key that the hub let in once comes back by itself; a token then only helps where the hub has
 * forgotten the key. An agent that the hub never heard of has nothing but its token; without one it may have asked already, and
 * have been stopped before it kept the reply.
 */
export function credentialsToTry(
  state: Pick<AgentState, 'waitingJwt' | 'member'>,
  options: { hasToken: boolean; nowMs: number },
): Credential[] {
  const { member, waitingJwt } = state;
  const token: Credential[] = options.hasToken ? [{ role: 'token' }] : [];
  const returning: Credential = { role: 'returning' };
  if (member) {
    const jwts = new Set([member.jwt, member.workedJwt]);
    const alive = [...jwts].filter((jwt) => isAlive(jwt, options.nowMs));
    return [...alive.map((jwt) => ({ role: 'member', jwt }) as const), returning, ...token];
  }
  if (waitingJwt !== undefined) {
    const alive: Credential[] = isAlive(waitingJwt, options.nowMs)
      ? [{ role: 'waiting', jwt: waitingJwt }]
      : [];
    return [...alive, ...token, returning];
  }
  return options.hasToken ? token : [returning];
}

/** Whether `jwt` was issued after `than`: answers may be heard twice and late. */
export function isIssuedLater(jwt: string, than: string | undefined): boolean {
  const issued = jwtIssuedAt(jwt);
  if (issued === undefined || jwt === than) return false;
  return issued >= ((than === undefined ? undefined : jwtIssuedAt(than)) ?? 0);
}
