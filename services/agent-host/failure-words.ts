import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { KubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { addressRefused } from './guarded-lookup.ts';

export interface FailureWords {
  readonly reason: string;
  readonly message: string;
}

const unreachable = (why: string): FailureWords => ({
  reason: 'MemberUnreachable',
  message: `the API server of the member ${why}`,
});

/** By the code of the socket, TLS or DNS error at the bottom. */
const byCode: Readonly<Record<string, FailureWords>> = {
  [addressRefused]: {
    reason: 'AddressRefused',
    message:
      'the name of the API server of the member stands for an address that this hub must not connect to',
  },
  ERESPONSETOOLARGE: {
    reason: 'ResponseTooLarge',
    message: 'the API server of the member answers without end',
  },
  ECONNREFUSED: unreachable('refuses the connection'),
  ENOTFOUND: unreachable('has a name that nobody knows'),
  EAI_AGAIN: unreachable('has a name that cannot be looked up now'),
  EHOSTUNREACH: unreachable('is on a network that cannot be reached from here'),
  ENETUNREACH: unreachable('is on a network that cannot be reached from here'),
};
const untrusted: FailureWords = {
  reason: 'CertificateRefused',
  message: 'the certificate that the API server of the member shows is not one that its kubeconfig trusts',
};
const isTlsCode = (code: string) =>
  /^(ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_SSL_)/.test(code);

/** By the code of our own errors, where nothing at the bottom says more. */
const byOwnCode: Readonly<Record<string, FailureWords>> = {
  MEMBER_UNREACHABLE: unreachable('does not answer in time, or not as an API server does'),
  KUBE_UNREACHABLE: unreachable('does not answer in time, or not as an API server does'),
  MEMBER_FORBIDDEN: {
    reason: 'MemberForbidden',
    message:
      'the credentials in the kubeconfig do not allow what the hub needs to do in the member, or have ended',
  },
  KUBE_API: {
    reason: 'MemberRefused',
    message: 'the API server of the member refuses what the hub needs to do there',
  },
  TOKEN_INVALID: {
    reason: 'TokenMissing',
    message: 'no whole token stands in the Secret, nor is there a published one of the name of the cluster',
  },
  DEADLINE_EXCEEDED: {
    reason: 'AgentNotHeard',
    message: 'the agent was installed in the member and has not been heard; its pods there say why',
  },
  MEMBER_TOO_OLD: { reason: 'MemberTooOld', message: 'the member runs a Kubernetes older than 1.28' },
  MEMBER_OTHER: {
    reason: 'MemberOther',
    message: 'the kubeconfig leads to another cluster than the one whose id was given',
  },
};

/** The hub's own API server was in the way, which answers with the same codes as that of a member. */
class HubTrouble extends Error {}

/** Marks what fails there, so that no member is blamed for it. What is wrong with a Secret itself is said as it is. */
export async function ofHub<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (
      cause instanceof RollcallError &&
      cause.code !== 'KUBE_UNREACHABLE' &&
      !(cause instanceof KubeApiError)
    )
      throw cause;
    throw new HubTrouble('the API server of the hub is in the way', { cause });
  }
}

const hubTrouble: FailureWords = {
  reason: 'HostTrouble',
  message: 'the API server of the hub itself does not answer, or refuses what the agent host keeps there',
};

/** An error, what caused it, and so on. */
function withCauses(error: unknown): Error[] {
  const all: Error[] = [];
  for (let at = error; at instanceof Error && all.length < 8; at = at.cause) all.push(at);
  return all;
}

function codeAtBottom(errors: readonly Error[]): string | undefined {
  const codes = errors.flatMap((error) =>
    'code' in error && typeof error.code === 'string' ? [error.code] : [],
  );
  return codes.at(-1);
}

/**
 * What went wrong with a member, as the condition says it. Only words of ours: those of an error may be the member's, and a member
 * may say anything.
 */
export function failureWords(thrown: unknown): FailureWords {
  const errors = withCauses(thrown);
  if (errors.some((one) => one instanceof HubTrouble)) return hubTrouble;
  const error = toRollcallError(thrown);
  // These were written by us about the Secret, and quote nothing of it.
  if (error.code === 'MEMBER_KUBECONFIG_REFUSED')
    return { reason: 'KubeconfigRefused', message: error.message };
  const code = codeAtBottom(errors) ?? error.code;
  if (Object.hasOwn(byCode, code)) return byCode[code] as FailureWords;
  if (isTlsCode(code)) return untrusted;
  if (Object.hasOwn(byOwnCode, error.code)) return byOwnCode[error.code] as FailureWords;
  return { reason: 'HostTrouble', message: `the agent host could not go on (${error.code})` };
}
