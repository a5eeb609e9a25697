import type { Refusal } from '../replies/refusal.ts';

const oldest = { major: 1, minor: 28 } as const;

/**
 * Members must run Kubernetes 1.28 or newer (design, conventions). An agent that could not read its version says none, and is not
 * refused; text that is no version is no new one.
 */
export function refuseVersion(kubernetesVersion: string | undefined): Refusal | undefined {
  if (kubernetesVersion === undefined) return undefined;
  const found = /^v?(\d{1,4})\.(\d{1,4})(?:[.+-]|$)/.exec(kubernetesVersion);
  if (!found)
    return {
      code: 'MEMBER_VERSION_UNREADABLE',
      message: 'what the member says of its version is no version',
    };
  const [major, minor] = [Number(found[1]), Number(found[2])];
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return undefined;
  return {
    code: 'MEMBER_TOO_OLD',
    message: `the member runs Kubernetes ${kubernetesVersion}; ${oldest.major}.${oldest.minor} or newer is needed`,
  };
}
