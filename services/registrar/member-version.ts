import type { Refusal } from './refusal.ts';

const oldest = { major: 1, minor: 28 } as const;

/** Members must run Kubernetes 1.28 or newer (design, conventions). An agent that could not read its version is not refused. */
export function refuseVersion(kubernetesVersion: string | undefined): Refusal | undefined {
  const found = /^v?(\d+)\.(\d+)/.exec(kubernetesVersion ?? '');
  if (!found) return undefined;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return undefined;
  return {
    code: 'MEMBER_TOO_OLD',
    message: `the member runs Kubernetes ${kubernetesVersion}; ${oldest.major}.${oldest.minor} or newer is needed`,
  };
}
