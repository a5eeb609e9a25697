import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { isAvailable, workloadTroubles } from '../install/until-available.ts';
import { agentDeployment, agentDoubts, type AgentDeployment } from '../install/agent/agent-says.ts';
import { stepAfter } from '../install/pod-trouble.ts';
import { finding, type Finding, ok, orSkipped, skipped } from './finding.ts';

const { name, namespace } = agentDeployment;
const readLog = `\`kubectl --namespace ${namespace} logs deployment/${name}\` says more; docs/troubleshooting.md has what to do.`;

/** How the agent that is installed in a member stands with its hub, in its own words. */
export function examineAgent(client: KubeClient): Promise<readonly Finding[]> {
  return orSkipped('agent', async () => {
    const found = await client.get<AgentDeployment>(resources.deployments, agentDeployment);
    if (!found) return [skipped('agent', `none is installed in namespace ${namespace} of this member`)];
    if (found.spec?.replicas === 0)
      return [
        finding(
          'agent',
          `Deployment ${name} is scaled to 0`,
          `kubectl --namespace ${namespace} scale deployment ${name} --replicas 1`,
        ),
      ];
    const where = { resource: resources.deployments, name, namespace };
    const ofPods = isAvailable(found) ? [] : await workloadTroubles(client, where);
    const isStarting = !isAvailable(found) && ofPods.length === 0;
    const troubles = [
      ...(isStarting ? [finding('agent', `Deployment ${name} is not available yet`, readLog)] : []),
      ...ofPods.map((trouble) => finding('agent', trouble, stepAfter(trouble))),
      ...agentDoubts(found).map((trouble) => finding('agent', trouble, readLog)),
    ];
    return troubles.length === 0 ? [ok('agent', 'runs, and is connected and registered')] : troubles;
  });
}
