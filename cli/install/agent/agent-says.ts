import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { waitForObject } from '../../wait-for-object.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
}
type Deployment = KubeObject<unknown, { conditions?: readonly Condition[] }>;

const where = { name: 'rollcall-agent', namespace: 'rollcall-agent' } as const;
/** As long as a person waits. */
const saysWithinMs = 10_000;

const conditionOf = ({ status }: Deployment, wanted: string) =>
  status?.conditions?.find(({ type }) => type === wanted);
const saidAt = (found: Deployment) => conditionOf(found, 'Connected')?.lastUpdateTime;

/** When an agent last said how it stands with its hub: one that is started anew says it again. */
export async function agentSaidAt(client: KubeClient): Promise<string | undefined> {
  const found = await client.get<Deployment>(resources.deployments, where);
  return found && saidAt(found);
}

/**
 * What an agent that has been started says is in its way to the hub; empty: nothing, or nothing yet.
 * @param before - when the one before it spoke (`agentSaidAt`)
 */
export async function whatAgentSays(client: KubeClient, before: string | undefined): Promise<string[]> {
  const on = { resource: resources.deployments, ...where, timeoutMs: saysWithinMs };
  const found = await waitForObject<Deployment>(client, on, (one) => {
    if (saidAt(one) === before) return false;
    return (
      conditionOf(one, 'Connected')?.status === 'False' ||
      conditionOf(one, 'Registered')?.status !== 'Unknown'
    );
  });
  const conditions = found ? ['Connected', 'Registered'].map((type) => conditionOf(found, type)) : [];
  return conditions.flatMap((one) =>
    one?.status === 'False' ? [`${one.type} is False (${one.reason}): ${one.message}`] : [],
  );
}
