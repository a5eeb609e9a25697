import { formatHubAddress } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { parseRegistrationToken } from '@rollcall/shared/trust/keys';
import { type NetworkFlags, networkValues } from '../agent/network-flags.ts';
import { addressesOf, tokenOf, type TrustFlags, trustOf } from '../agent/joining-flags.ts';
import { type DocumentFormat, documentText } from '../document-text.ts';
import { durationFlagMs } from '../duration-flag.ts';
import { parseLabels } from '../labels-flag.ts';
import { memberAccess, type MemberFlags } from '../member-access.ts';
import { printResult, say } from '../output.ts';
import { checkMember } from '../register/check-member.ts';
import { reportChecks } from '../register/check.ts';
import { agentRules, agentValuesSchema, type AgentValues } from './agent-values.ts';
import { objectsIn, renderFolder, shown } from './deploy-templates.ts';
import { installClient } from './install-client.ts';
import { findInstalled, refuseHelm } from './installed.ts';
import { untilAvailable } from './until-available.ts';
import { checkValues, readValuesFile } from './values.ts';

export interface InstallAgentFlags extends MemberFlags, TrustFlags, NetworkFlags {
  readonly values?: readonly string[];
  readonly hub?: readonly string[];
  readonly token?: string;
  readonly clusterName?: string;
  readonly clientId?: string;
  readonly labels?: string;
  readonly clusterType?: 'Standard' | 'Edge';
  readonly image?: string;
  readonly output: 'text' | DocumentFormat;
  readonly wait: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

const namespace = 'rollcall-agent';
const name = 'rollcall-agent';

/** Flags say the same as values; what is not said is left to the values. */
function valuesOfFlags(flags: InstallAgentFlags): Record<string, unknown> {
  const trust = trustOf(flags);
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
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/** @throws RollcallError USAGE, CONFIG_INVALID, TOKEN_INVALID */
function valuesOf(flags: InstallAgentFlags): AgentValues {
  const files = (flags.values ?? []).map(readValuesFile);
  const values = checkValues([...files, valuesOfFlags(flags)], agentValuesSchema, agentRules);
  if (values.hub !== '') addressesOf([values.hub]);
  if (values.token !== '') parseRegistrationToken(values.token);
  return values;
}

/** An agent without keys asks with a token; whether one is in a Secret of somebody's own is for the agent to see. */
async function checkCredentials(client: KubeClient, values: AgentValues): Promise<void> {
  const keys = await client.get<KubeObject & { data?: object }>(resources.secrets, { name, namespace });
  if (keys?.data !== undefined) {
    say('[preflight] keys: an earlier registration left its own here; the agent goes on with them');
  } else if (values.token === '' && !values.existingSecret) {
    throw new RollcallError('TOKEN_INVALID', 'there is no token, and no key of an earlier registration');
  }
}

/**
 * Installs the agent in a member, by the very objects that the chart has.
 * @throws RollcallError USAGE, CONFIG_INVALID, TOKEN_INVALID; INSTALLED_BY_HELM, NAMESPACE_TERMINATING; what the API server refuses;
 * DEADLINE_EXCEEDED with what its pod says
 */
export async function installAgent(flags: InstallAgentFlags): Promise<void> {
  const values = valuesOf(flags);
  const timeoutMs = durationFlagMs('--timeout', flags.timeout);
  const yaml = renderFolder('agent', values);
  const objects = objectsIn(yaml);
  if (flags.output !== 'text') {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    printResult(flags.output === 'yaml' ? yaml : documentText(list, 'json'));
    return;
  }
  const access = await memberAccess(flags);
  say(`hub: ${values.existingSecret ? 'as Secret rollcall-bootstrap says' : values.hub}`);
  say(`member: ${access.server} (context "${access.contextName}", user "${access.userName}")`);
  const client = installClient(access);
  try {
    const member = await checkMember(client, values.clientID === '' ? undefined : values.clientID);
    reportChecks(member.outcomes);
    const installed = await findInstalled(client, { name, namespace });
    refuseHelm(installed, namespace);
    if (installed.version !== undefined) {
      say(`[preflight] installed: version ${installed.version}, to become ${rollcallVersion}`);
    }
    await checkCredentials(client, values);
    if (flags.dryRun) {
      for (const object of objects) say(`[install] would be applied: ${shown(object)}`);
      printResult('the agent can be installed (dry run)');
      return;
    }
    for (const { kind, name: of, outcome } of await applyManifests(client, objects)) {
      say(`[install] ${kind} ${of}: ${outcome}`);
    }
    if (flags.wait)
      await untilAvailable(client, { resource: resources.deployments, name, namespace }, timeoutMs);
    printResult(flags.wait ? 'the agent runs' : 'the agent is installed');
    say(`what it says: kubectl --namespace ${namespace} logs deployment/${name} --follow`);
    say('on the hub: rollcall get clusters');
  } finally {
    client.close();
  }
}
