import type { HubInfo } from './hub-info.ts';

/** Safe in a shell as it is; everything else is quoted. */
const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;

export function shellWord(text: string): string {
  return plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The name that a token is for, where it is for exactly one: a pattern is none. */
export function oneName(clusterName: string | undefined): string | undefined {
  return clusterName === undefined || /[*?]/.test(clusterName) ? undefined : clusterName;
}

/**
 * What a cluster's owner pastes. Ends in `--run`: the agent runs right there. The token is in the environment: as a flag it would stand in
 * the process list for as long as the agent runs.
 * @param options.clusterName - only where the token is for exactly one name
 */
export function registerCommand(
  hub: Pick<HubInfo, 'addresses' | 'caCertHash'>,
  options: { token: string; clusterName?: string | undefined; clientId?: string | undefined },
): string {
  const { clientId } = options;
  const clusterName = oneName(options.clusterName);
  const words = [
    'rollcall',
    'register',
    hub.addresses.join(','),
    // Two while the hub changes its CA.
    ...hub.caCertHash.split(',').flatMap((hash) => ['--ca-cert-hash', hash]),
    ...(clusterName === undefined ? [] : ['--cluster-name', clusterName]),
    ...(clientId === undefined ? [] : ['--client-id', clientId]),
    '--run',
  ];
  return `ROLLCALL_TOKEN=${shellWord(options.token)} ${words.map(shellWord).join(' ')}`;
}
