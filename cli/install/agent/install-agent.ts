import { createHash } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { type TrustFlags, trustOf } from '../../agent/joining-flags.ts';
import { type DocumentFormat, documentText } from '../../terminal/document-text.ts';
import { timeoutFlagMs } from '../../duration-flag.ts';
import { memberAccess, type MemberFlags } from '../../member-access.ts';
import { printResult, say } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { checkMember } from '../../register/check-member.ts';
import { reportChecks } from '../../register/check.ts';
import { type AgentFlags, agentValuesOf } from './agent-flags.ts';
import { agentSaidAt, whatAgentSays } from './agent-says.ts';
import type { AgentValues } from './agent-values.ts';
import { objectsIn, renderFolder } from '../deploy-templates.ts';
import { installClient } from '../install-client.ts';
import { findInstalled, refuseHelm, sayOtherLevel, sayVersions } from '../find-installed.ts';
import { untilAvailable } from '../until-available.ts';
import { wouldBeApplied } from '../would-be-applied.ts';

export interface InstallAgentFlags extends AgentFlags, MemberFlags, TrustFlags {
  readonly output: 'text' | DocumentFormat;
  readonly wait: boolean;
  readonly timeout: string;
  readonly dryRun?: boolean;
}

const namespace = 'rollcall-agent';
const name = 'rollcall-agent';

type Secret = KubeObject & { data?: Record<string, string> };

const isPods = ({ kind }: KubeObject): boolean => kind === resources.deployments.kind;

/** An agent without keys asks with a token. */
async function checkCredentials(client: KubeClient, values: AgentValues): Promise<void> {
  const keys = await client.get<Secret>(resources.secrets, { name, namespace });
  if (keys?.data !== undefined) {
    say('[preflight] keys: an earlier registration left its own here; the agent goes on with them');
  } else if (values.token === '' && !values.existingSecret) {
    throw new RollcallError('TOKEN_INVALID', 'there is no token, and no key of an earlier registration');
  }
}

/**
 * What is in a Secret of somebody's own is for the agent to see. It reads it when it starts: changed, it starts the pod again, as
 * changed values do.
 * @throws RollcallError CONFIG_INVALID where there is none
 */
async function withBootstrap(client: KubeClient, objects: readonly KubeObject[]): Promise<KubeObject[]> {
  const bootstrap = { name: 'rollcall-bootstrap', namespace };
  const found = await client.get<Secret>(resources.secrets, bootstrap);
  if (!found) {
    const message = `existingSecret is true, and there is no Secret ${bootstrap.name} in namespace ${namespace}`;
    throw new RollcallError('CONFIG_INVALID', message);
  }
  const data = Object.entries(found.data ?? {}).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify(data)).digest('hex');
  type Pods = KubeObject<{ template: { metadata: { annotations?: object } } }>;
  return objects.map((object) => {
    const { spec } = object as Pods;
    if (object.kind !== resources.deployments.kind || !spec) return object;
    const { template } = spec;
    const annotations = { ...template.metadata.annotations, 'rollcall.dev/bootstrap': digest };
    const metadata = { ...template.metadata, annotations };
    return { ...object, spec: { ...spec, template: { ...template, metadata } } };
  });
}

/**
 * Installs the agent in a member, by the very objects that the chart has.
 * @throws RollcallError USAGE, CONFIG_INVALID, TOKEN_INVALID; INSTALLED_BY_HELM, NAMESPACE_TERMINATING; what the API server refuses;
 * DEADLINE_EXCEEDED with what its pod says
 */
export async function installAgent(flags: InstallAgentFlags): Promise<void> {
  const values = agentValuesOf(flags, trustOf(flags));
  const timeoutMs = timeoutFlagMs(flags.timeout);
  const yaml = renderFolder('agent', values);
  // Last what needs the others.
  const rendered = objectsIn(yaml).toSorted((one, other) => Number(isPods(one)) - Number(isPods(other)));
  if (flags.output !== 'text') {
    const list = { apiVersion: 'v1', kind: 'List', items: rendered };
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
    sayOtherLevel(installed, namespace);
    sayVersions(installed, values.image);
    await checkCredentials(client, values);
    const objects = values.existingSecret ? await withBootstrap(client, rendered) : rendered;
    if (flags.dryRun) {
      for (const line of await wouldBeApplied(client, objects)) say(`[install] ${line}`);
      printResult('the agent can be installed (dry run)');
      return;
    }
    const before = await agentSaidAt(client);
    let isStarted = false;
    for (const { kind, name: of, outcome } of await applyManifests(client, objects)) {
      say(`[install] ${kind} ${of}: ${outcome}`);
      if (kind === resources.deployments.kind) isStarted = outcome !== 'unchanged';
    }
    if (flags.wait) {
      const runs = untilAvailable(client, { resource: resources.deployments, name, namespace }, timeoutMs);
      await withProgress('waiting until the agent runs', runs);
      for (const said of isStarted ? await whatAgentSays(client, before) : []) say(`[agent] ${said}`);
    }
    printResult(flags.wait ? 'the agent runs' : 'the agent is installed');
    say(`what it says: kubectl --namespace ${namespace} logs deployment/${name} --follow`);
    say('on the hub: rollcall get requests (what waits), rollcall get clusters');
  } finally {
    client.close();
  }
}
