import { RollcallError } from '@rollcall/shared/errors';
import { requestAccountToken } from '@rollcall/shared/kubernetes/account-token';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import { listPages } from '@rollcall/shared/kubernetes/list-pages';
import { watchResource } from '@rollcall/shared/kubernetes/watch';
import type {
  KubeAccess,
  KubeClient,
  KubeObject,
  Resource,
  StoredObject,
  WatchOptions,
} from '@rollcall/shared/kubernetes';

/** A member that has more is not counted. */
const mostListed = 20_000;
/** Nor one that takes longer to be listed. */
const longestListMs = 60_000;

/** Lists once what is not to be watched: of whoever may be hostile, because an answer without an end cannot be bounded. */
async function listOnce<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  options: WatchOptions<T>,
): Promise<void> {
  const { signal, pageSize, keep = (object) => object as StoredObject<T> } = options;
  try {
    let version = '';
    let count = 0;
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(longestListMs)]);
    for await (const page of listPages(client, resource, { limit: pageSize, signal: inTime })) {
      for (const object of page.items) options.onEvent({ kind: 'added', object: keep(object) });
      ({ resourceVersion: version } = page);
      count += page.items.length;
      if (count >= mostListed && page.continueToken !== undefined) return;
    }
    options.onSynced?.(version);
  } catch (error) {
    options.onError?.(error);
  }
}

/** All that the agent does with its member: reading, and having a token made that proves it (ADR 9). */
export interface MemberApi {
  /** `https://host:port`, and what verifies it: what the hub is told as the cluster's address. */
  readonly server: string;
  readonly caPem: string | undefined;
  /** @throws RollcallError MEMBER_UNREACHABLE without an answer; any answer is given as it is */
  get(path: string, timeoutMs?: number): Promise<{ status: number; body: string }>;
  /** As `watchResource`; of a member that may be hostile one list, and then it resolves. Never rejects. */
  watch<T extends KubeObject>(resource: Resource, options: WatchOptions<T>): Promise<void>;
  /**
   * A token for the agent's own ServiceAccount that is good for this audience only.
   * @returns undefined where the agent has none, or may not: whoever runs it by a kubeconfig need not have one
   */
  ownToken(audience: string): Promise<string | undefined>;
  /** The public keys of who makes them, as the API server shows them; undefined where it shows none, or not to us. */
  issuerKeys(): Promise<string | undefined>;
  close(): void;
}

const account = 'rollcall-agent';
/** The least that API servers give. */
const tokenLifeS = 600;

export function openMemberApi(access: KubeAccess, version: string): MemberApi {
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-agent',
    userAgent: `rollcall-agent/${version}`,
    timeoutMs: 10_000,
  });
  return {
    server: access.server,
    caPem: access.caPem,
    async get(path, timeoutMs) {
      try {
        return await client.raw(path, timeoutMs === undefined ? {} : { timeoutMs });
      } catch (cause) {
        const text = cause instanceof Error ? cause.message : String(cause);
        throw new RollcallError('MEMBER_UNREACHABLE', text, { cause });
      }
    },
    watch: (resource, options) => (access.caution ? listOnce : watchResource)(client, resource, options),
    async ownToken(audience) {
      const namespace = access.contextName === 'in-cluster' ? access.namespace : account;
      const tokenSpec = { audiences: [audience], expirationSeconds: tokenLifeS };
      try {
        return (await requestAccountToken(client, { namespace, name: account }, tokenSpec)).token;
      } catch {
        return undefined;
      }
    },
    async issuerKeys() {
      try {
        // Its only representation: asked for plain JSON it answers 406.
        const { status, body } = await client.raw('/openid/v1/jwks', { accept: 'application/jwk-set+json' });
        return status === 200 ? body : undefined;
      } catch {
        return undefined;
      }
    },
    close: () => client.close(),
  };
}

/** What an answer means that was not the one we needed. */
export function memberError(path: string, answer: { status: number; body: string }): RollcallError {
  const isRefused = answer.status === 401 || answer.status === 403;
  return new RollcallError(
    isRefused ? 'MEMBER_FORBIDDEN' : 'MEMBER_UNREACHABLE',
    `the member's API server answered ${answer.status} to GET ${path}`,
  );
}
