import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { isSafeId } from '@rollcall/shared/events/safe-id';
import type { DesiredHosting } from './desired-hosting.ts';

const timeoutMs = 10_000;
const oldest = { major: 1, minor: 28 } as const;

type Reader = Pick<KubeClient, 'raw'>;

/** @throws RollcallError MEMBER_FORBIDDEN, MEMBER_UNREACHABLE, KUBE_UNREACHABLE; nothing of the answer is in it */
async function readJson(member: Reader, path: string): Promise<Partial<Record<string, unknown>>> {
  const { status, body } = await member.raw(path, { timeoutMs });
  if (status === 401 || status === 403) {
    throw new RollcallError('MEMBER_FORBIDDEN', `the member's API server answered ${status} to GET ${path}`);
  }
  if (status === 200) {
    try {
      const read: unknown = JSON.parse(body);
      if (typeof read === 'object' && read !== null) return read;
    } catch {
      // As good as any other answer that is none.
    }
  }
  throw new RollcallError('MEMBER_UNREACHABLE', `the member's API server gave no answer to GET ${path}`);
}

function isNewEnough(gitVersion: unknown): boolean {
  const found = /^v?(\d{1,3})\.(\d{1,3})/.exec(typeof gitVersion === 'string' ? gitVersion : '');
  const [major, minor] = [Number(found?.[1]), Number(found?.[2])];
  return major > oldest.major || (major === oldest.major && minor >= oldest.minor);
}

/**
 * Whether a member can be reached, is new enough, lets us read what is reported of it, and is the one that was meant.
 * @throws RollcallError MEMBER_TOO_OLD, MEMBER_OTHER, and as above
 */
export async function tryMember(
  member: Reader,
  hosting: Pick<DesiredHosting, 'clusterId' | 'clientId'>,
): Promise<void> {
  const { gitVersion } = await readJson(member, '/version');
  if (!isNewEnough(gitVersion)) throw new RollcallError('MEMBER_TOO_OLD', 'the member is older than 1.28');
  const { metadata } = await readJson(member, '/api/v1/namespaces/kube-system');
  const uid: unknown = (metadata as { uid?: unknown } | undefined)?.uid;
  if (typeof uid !== 'string' || !isSafeId(uid))
    throw new RollcallError('MEMBER_UNREACHABLE', 'the namespace kube-system of the member has no UID');
  if (hosting.clientId === undefined && uid !== hosting.clusterId)
    throw new RollcallError('MEMBER_OTHER', 'the member is another cluster');
  await readJson(member, '/api/v1/nodes?limit=1');
}
