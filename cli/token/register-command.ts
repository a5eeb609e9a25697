import type { HubInfo } from './hub-info.ts';

/** Safe in a shell as it is; everything else is quoted. */
const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;

export function shellWord(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * What a cluster's owner pastes. Ends in `--run` until there are charts.
 * @param options.clusterName - only where the token is for exactly one name
 */
export function registerCommand(
  hub: Pick<HubInfo, 'addresses' | 'caCertHash'>,
  options: { token: string; clusterName?: string | undefined },
): string {
  const isOneName = options.clusterName !== undefined && !/[*?]/.test(options.clusterName);
  const words = [
    'rollcall',
    'register',
    hub.addresses.join(','),
    '--token',
    options.token,
    '--ca-cert-hash',
    hub.caCertHash,
    ...(isOneName ? ['--cluster-name', options.clusterName ?? ''] : []),
    '--run',
  ];
  return words.map(shellWord).join(' ');
}
