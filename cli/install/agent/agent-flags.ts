import { formatHubAddress, type HubTrust } from '@rollcall/agent';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { addressesOf, tokenOf } from '../../agent/joining-flags.ts';
import { type MemberAccessFlags, memberAccessValues } from '../../agent/member-access-flag.ts';
import { type NetworkFlags, networkValues } from '../../agent/network-flags.ts';
import { parseLabels } from '../../labels-flag.ts';
import { agentRules, agentValuesSchema, type AgentValues } from './agent-values.ts';
import { checkValues, readValuesFile } from '../values.ts';

/** Flags that say how an agent is to be installed; each says the same as a value of the chart. */
export interface AgentFlags extends NetworkFlags, MemberAccessFlags {
  readonly values?: readonly string[];
  readonly hub?: readonly string[];
  readonly token?: string;
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: string;
  readonly clusterType?: 'Standard' | 'Edge';
  readonly image?: string;
}

/** What is not said is left to the values. */
function saidBy(flags: AgentFlags, trust: HubTrust | undefined): Record<string, unknown> {
  const said = {
    hub: flags.hub && addressesOf(flags.hub).map(formatHubAddress).join(','),
    caBundle: trust && ('caPem' in trust ? trust.caPem : ''),
    caCertHash: trust && ('pins' in trust ? trust.pins.join(',') : ''),
    token: tokenOf(flags.token),
    clusterName: flags.clusterName,
    clientID: flags.clientId,
    labels: flags.labels === undefined ? undefined : parseLabels(flags.labels),
    clusterType: flags.clusterType,
    image: flags.image,
    ...networkValues(flags),
    ...memberAccessValues(flags),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/**
 * The values to install an agent with: files of values, and flags over them.
 * @param trust - how the hub is known, where flags say it
 * @throws RollcallError USAGE, CONFIG_INVALID, TOKEN_INVALID
 */
export function agentValuesOf(flags: AgentFlags, trust: HubTrust | undefined): AgentValues {
  const files = (flags.values ?? []).map(readValuesFile);
  const values = checkValues([...files, saidBy(flags, trust)], agentValuesSchema, agentRules);
  if (values.hub !== '') addressesOf([values.hub]);
  if (values.token !== '') parseRegistrationToken(values.token);
  return values;
}
