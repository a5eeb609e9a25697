import type { HubTrust } from '@rollcall/agent';
import { agentRules, agentValuesSchema } from '../install/agent/agent-values.ts';
import { renderFolder } from '../install/deploy-templates.ts';
import { checkValues } from '../install/values.ts';
import { parseLabels } from '../labels-flag.ts';

export interface ManifestValues {
  readonly hub: readonly string[];
  /** Values of the chart: how the hub is reached from the member. */
  readonly network?: Record<string, unknown>;
  readonly trust: HubTrust;
  readonly token: string;
  readonly image?: string | undefined;
  readonly clusterName?: string | undefined;
  readonly clientId?: string | undefined;
  /** `k=v,k=v` */
  readonly labels?: string | undefined;
}

/**
 * Everything that installs the agent in a member, for `kubectl apply -f -`. It holds the token.
 * @throws RollcallError USAGE for labels that are none
 */
export function renderManifest(given: ManifestValues): string {
  const { hub, trust, token, image, clusterName = '', clientId = '', labels = '' } = given;
  const values = {
    hub: hub.join(','),
    ...('caPem' in trust ? { caBundle: trust.caPem } : { caCertHash: trust.pins.join(',') }),
    token,
    ...given.network,
    ...(image === undefined ? {} : { image }),
    clusterName,
    clientID: clientId,
    labels: parseLabels(labels),
  };
  return renderFolder('agent', checkValues([values], agentValuesSchema, agentRules));
}
