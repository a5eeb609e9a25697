import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { waitForObject } from '../../wait-for-object.ts';
import type { Deployment } from '../workloads.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string;
}
/** Of an agent that is installed. */
export type AgentDeployment = Deployment & KubeObject<unknown, { conditions?: readonly Condition[] }>;

export const agentDeployment = { name: 'rollcall-agent', namespace: 'rollcall-agent' } as const;
/** As long as a person waits. */
const saysWithinMs = 10_000;

const conditionOf = ({ status }: AgentDeployment, wanted: string) =>
  status?.conditions?.find(({ type }) => type === wanted);
const saidAt = (found: AgentDeployment) => conditionOf(found, 'Connected')?.lastUpdateTime;

const said = ({ type, status, reason, message }: Condition): string =>
  `${type} is ${status} (${reason}): ${message}`;

/** What stands in its way to the hub, as it says; empty: nothing. */
function agentTroubles(found: AgentDeployment): string[] {
  return ['Connected', 'Registered'].flatMap((type) => {
    const one = conditionOf(found, type);
    return one?.status === 'False' ? [said(one)] : [];
  });
}

/** The same for who asks whether all is well: also what is not so yet, and what it does not say. */
export function agentDoubts(found: AgentDeployment): string[] {
  return ['Connected', 'Registered'].flatMap((type) => {
    const one = conditionOf(found, type);
    if (one === undefined) return [`it does not say whether it is ${type.toLowerCase()}`];
    return one.status === 'True' ? [] : [said(one)];
  });
}

/** When an agent last said how it stands with its hub: one that is started anew says it again. */
export async function agentSaidAt(client: KubeClient): Promise<string | undefined> {
  const found = await client.get<AgentDeployment>(resources.deployments, agentDeployment);
  return found && saidAt(found);
}

/**
 * What an agent that has been started says is in its way to the hub; empty: nothing, or nothing yet.
 * @param before - when the one before it spoke (`agentSaidAt`)
 */
export async function whatAgentSays(client: KubeClient, before: string | undefined): Promise<string[]> {
  const on = { resource: resources.deployments, ...agentDeployment, timeoutMs: saysWithinMs };
  const found = await waitForObject<AgentDeployment>(client, on, (one) => {
    if (saidAt(one) === before) return false;
    return (
      conditionOf(one, 'Connected')?.status === 'False' ||
      conditionOf(one, 'Registered')?.status !== 'Unknown'
    );
  });
  return found ? agentTroubles(found) : [];
}
