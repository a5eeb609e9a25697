import { createHash } from 'node:crypto';
import { isRecent } from '@rollcall/shared/events';
import type { KubeAccess, KubeClient, TokenSource } from '@rollcall/shared/kubernetes';
import { requestAccountToken } from '@rollcall/shared/kubernetes/account-token';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { resources } from '@rollcall/shared/kubernetes/resources';
import { putSecret } from '@rollcall/agent/put-secret';
import { ofHub } from './failure-words.ts';
import { type Secret, textIn } from './read-kubeconfig-secret.ts';

/** A token of a ServiceAccount, as far as it says so itself: nobody verifies it here, the member does. */
interface AccountToken {
  readonly namespace: string;
  readonly name: string;
  readonly issuedAtMs: number;
  readonly endsAtMs: number;
}

/** @returns undefined for what is no token of a ServiceAccount, or has no end */
function accountTokenOf(token: string): AccountToken | undefined {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const { sub, iat, exp } = (payload ?? {}) as Partial<Record<string, unknown>>;
    const found = /^system:serviceaccount:([a-z0-9.-]{1,253}):([a-z0-9.-]{1,253})$/.exec(String(sub));
    if (!found || typeof iat !== 'number' || typeof exp !== 'number' || exp <= iat) return undefined;
    const [, namespace = '', name = ''] = found;
    return { namespace, name, issuedAtMs: iat * 1000, endsAtMs: exp * 1000 };
  } catch {
    return undefined;
  }
}

/** After a third of its life: a host that was away for days still finds it good. */
function renewAtMs({ issuedAtMs, endsAtMs }: Pick<AccountToken, 'issuedAtMs' | 'endsAtMs'>): number {
  return issuedAtMs + (endsAtMs - issuedAtMs) / 3;
}

/** Where the latest token of a member is kept, apart from the Secret that people write. */
interface TokenStore {
  load(): Promise<string | undefined>;
  save(token: string): Promise<void>;
}

/** @param options.first - the token in the kubeconfig: one that was kept counts as long as that is the same */
export function secretTokenStore(
  client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>,
  { namespace, name, first }: { namespace: string; name: string; first: string },
): TokenStore {
  const of = createHash('sha256').update(first).digest('hex');
  return {
    async load() {
      const secret = await ofHub(client.get<Secret>(resources.secrets, { name, namespace }));
      return textIn(secret, 'of') === of ? textIn(secret, 'token') : undefined;
    },
    save: (token) => ofHub(putSecret(client, { namespace, name }, { token, of })),
  };
}

const wantedLifeS = 604_800;
const retryMs = 60_000;

/**
 * Access whose token is renewed by itself, where it is one of a ServiceAccount that may have tokens made for itself, as the one that
 * `rollcall join` makes. Others are used as they are, until somebody puts new ones into the Secret.
 * @param options.onTrouble - renewing failed; it is tried again a minute later at the earliest
 */
export async function withRenewedToken(
  access: KubeAccess,
  options: { store: TokenStore; userAgent: string; nowMs(): number; onTrouble(error: unknown): void },
): Promise<KubeAccess> {
  const { store, userAgent, nowMs, onTrouble } = options;
  if (typeof access.token !== 'string' || accountTokenOf(access.token) === undefined) return access;
  const kept = await store.load();
  let current = kept ?? access.token;
  let triedAtMs = -Infinity;

  async function renew(account: AccountToken): Promise<void> {
    const client = createKubeClient(
      { ...access, token: current },
      { fieldManager: 'rollcall-agent', userAgent },
    );
    try {
      const { namespace, name } = account;
      const made = await requestAccountToken(client, account, { expirationSeconds: wantedLifeS });
      const token: unknown = made.token;
      const next = typeof token === 'string' ? accountTokenOf(token) : undefined;
      if (typeof token !== 'string' || next?.name !== name || next.namespace !== namespace) return;
      if (!/^[\x21-\x7e]{1,16384}$/.test(token)) return;
      await store.save(token);
      current = token;
    } finally {
      client.close();
    }
  }

  const token: TokenSource = async () => {
    const account = accountTokenOf(current);
    const now = nowMs();
    const isTried = isRecent(triedAtMs, { nowMs: now, withinMs: retryMs });
    if (account !== undefined && now > renewAtMs(account) && !isTried) {
      triedAtMs = now;
      renew(account).catch(onTrouble);
    }
    return current;
  };
  return { ...access, token };
}
