import { RollcallError } from '@rollcall/shared/errors';
import { createKubeClient } from '@rollcall/shared/kubernetes/client';
import type { KubeAccess } from '@rollcall/shared/kubernetes';

/** All that the agent does with its member: reading. */
export interface MemberApi {
  /** `https://host:port`, and what verifies it: what the hub is told as the cluster's address. */
  readonly server: string;
  readonly caPem: string | undefined;
  /** @throws RollcallError MEMBER_UNREACHABLE without an answer; any answer is given as it is */
  get(path: string, timeoutMs?: number): Promise<{ status: number; body: string }>;
  close(): void;
}

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
