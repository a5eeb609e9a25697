import { clusterNameOf, readClusterId } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { isReservedClusterName } from '@rollcall/shared/events';
import type { KubeAccess, KubeClient } from '@rollcall/shared/kubernetes';
import { type CheckOutcome, runCheck } from './check.ts';

const oldest = { major: 1, minor: 28 } as const;

/** @throws RollcallError MEMBER_TOO_OLD */
export function checkVersion(gitVersion: string): string {
  const found = /^v?(\d+)\.(\d+)/.exec(gitVersion);
  const [major, minor] = [Number(found?.[1]), Number(found?.[2])];
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor))
    return `Kubernetes ${gitVersion}`;
  throw new RollcallError(
    'MEMBER_TOO_OLD',
    `the member runs Kubernetes ${gitVersion}; ${oldest.major}.${oldest.minor} or newer is needed`,
  );
}

/** What the agent reads of its member, and nothing more. */
interface MemberReader {
  readonly server: string;
  readonly caPem: string | undefined;
  get(path: string): Promise<{ status: number; body: string }>;
  close(): void;
}

function readerOf(client: Pick<KubeClient, 'raw' | 'access'>): MemberReader {
  const { server, caPem } = client.access;
  return {
    server,
    caPem,
    close: () => undefined,
    async get(path) {
      try {
        return await client.raw(path);
      } catch (cause) {
        throw new RollcallError(
          'MEMBER_UNREACHABLE',
          cause instanceof Error ? cause.message : String(cause),
          { cause },
        );
      }
    },
  };
}

async function mayRead(member: MemberReader, path: string): Promise<void> {
  refuseUnlessGood((await member.get(path)).status, path);
}

/** A server that does not know us was reached. @throws RollcallError MEMBER_FORBIDDEN, MEMBER_UNREACHABLE */
function refuseUnlessGood(status: number, path: string): void {
  if (status === 200) return;
  const isForbidden = status === 401 || status === 403;
  throw new RollcallError(
    isForbidden ? 'MEMBER_FORBIDDEN' : 'MEMBER_UNREACHABLE',
    `the member's API server answered ${status} to GET ${path}`,
  );
}

export interface MemberFound {
  readonly outcomes: readonly CheckOutcome[];
  /** Undefined when it could not be found out. */
  readonly clusterId: string | undefined;
}

/** Whether the member can be registered: reached, new enough, and readable. */
export async function checkMember(
  client: Pick<KubeClient, 'raw' | 'access'>,
  clientId: string | undefined,
): Promise<MemberFound> {
  const member = readerOf(client);
  let gitVersion = '';
  const api = await runCheck('member-api', async () => {
    const { status, body } = await member.get('/version');
    refuseUnlessGood(status, '/version');
    gitVersion = (JSON.parse(body) as { gitVersion?: string }).gitVersion ?? '';
    return member.server;
  });
  if ('error' in api) return { outcomes: [api], clusterId: undefined };
  const version = await runCheck('member-version', () => checkVersion(gitVersion));
  let clusterId: string | undefined;
  const rights = await runCheck('member-rights', async () => {
    await mayRead(member, '/api/v1/namespaces/kube-system');
    await mayRead(member, '/api/v1/nodes?limit=1');
    clusterId = await readClusterId(member, clientId);
    return `reads namespace kube-system and nodes; cluster id ${clusterId}`;
  });
  return { outcomes: [api, version, rights], clusterId };
}

/** Whether there is a name for the cluster that says something: the given one, else that of the context's cluster. */
export function checkName(
  access: KubeAccess,
  identity: { given: string | undefined; clusterId: string },
): Promise<CheckOutcome> {
  return runCheck('cluster-name', () => {
    const contextCluster = access.contextName === 'in-cluster' ? undefined : access.clusterName;
    const name = clusterNameOf({ ...identity, contextCluster });
    if (isReservedClusterName(name))
      throw new RollcallError(
        'CLUSTER_NAME_RESERVED',
        `the name "${name}" is reserved on every hub; --cluster-name gives another one`,
      );
    return identity.given === undefined && contextCluster !== undefined
      ? `${name} (from cluster "${contextCluster}")`
      : name;
  });
}
