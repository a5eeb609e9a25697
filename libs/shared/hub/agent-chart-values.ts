import { stringify } from 'yaml';
import type { HubInfo } from './hub-info.ts';
import { oneName } from './register-command.ts';

/**
 * A ready values file for the agent's chart (surfaces: "Published Secret"). It holds the token. All names are there, those that
 * the token leaves open as empty ones: whoever installs sees what can be filled in. `labels` are those that the agent asks
 * for, so they are empty: what the token gives comes without asking.
 */
export function chartValues(
  hub: HubInfo,
  token: { text: string; clusterName?: string | undefined; clientId?: string | undefined },
): string {
  return stringify({
    hub: hub.addresses.join(','),
    caBundle: hub.caPem,
    caCertHash: hub.caCertHash,
    token: token.text,
    clusterName: oneName(token.clusterName) ?? '',
    clientID: token.clientId ?? '',
    labels: {},
  });
}
