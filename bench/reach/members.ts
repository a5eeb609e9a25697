import { parseMemberAccess } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { applyManifests, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { until } from '../../tests/harness/embedded.ts';
import { agentProgram } from '../hub/agent-program.ts';
import type { CrowdHub } from '../hub/crowd.ts';
import type { HubReport } from '../hub/hub-process.ts';
import { type BenchAgent, startBenchAgent } from '../hub/start-agent.ts';
import { makeToken } from '../../cli/token/make-token.ts';

/** The administrator of the hub, by the names that he has in a member. */
const letIn = ['user:rollcall-admin', 'group:system:masters=rollcall:admins'];

/** Where the hub's API server has the API of a member. */
export const through = (cluster: string, path: string): string =>
  `/apis/proxy.rollcall.dev/v1alpha1/managedclusters/${cluster}/proxy${path}`;

/** Whoever administers the hub administers the member. */
export async function allowPeople(member: KubeClient): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io';
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'people' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: rbac, kind: 'Group', name: 'rollcall:admins' }],
  };
  await applyManifests(member, [binding as unknown as KubeObject]);
}

/**
 * Agents, a process each, of clusters that share an API server and let people of the hub in. Resolves when the hub shows that they do.
 * @param report - of a hub with a member
 */
export async function startMembers(
  report: HubReport,
  admin: CrowdHub['admin'],
  clusters: readonly string[],
): Promise<BenchAgent[]> {
  const { hubId } = report;
  const token = await makeToken(admin, { hubId, name: clusters[0] ?? '', uses: clusters.length });
  const memberAccess = parseMemberAccess(letIn);
  const program = [agentProgram('compiled')];
  const { member } = report;
  if (!member) throw new RollcallError('UNEXPECTED', 'the hub of the bench has no member');
  const agents = clusters.map((cluster) =>
    startBenchAgent(report, { cluster, program, token, member, memberAccess }),
  );
  for (const name of clusters)
    await until(`${name} lets people in`, async () => {
      const found = await admin.get<ManagedCluster>(resources.managedClusters, { name });
      return found?.status?.memberAccess !== undefined;
    });
  return agents;
}
