import { toRollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { apiVersionOf, resources } from '@rollcall/shared/kubernetes/resources';
import { asReason, codeAsReason } from '@rollcall/shared/resources/condition-reason';
import type { Logger } from '@rollcall/shared/service';
import { cutText } from '@rollcall/shared/text';
import type { OnPhase, PhaseEvent } from '../protocol/phase.ts';

/** What an agent in a pod says of itself on its Deployment, so that people in the member see it with kubectl (ADR 21). */
export interface AgentCondition {
  readonly type: 'Connected' | 'Registered';
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, of the catalogue's code where there is one. */
  readonly reason: string;
  readonly message: string;
}
type Type = AgentCondition['type'];
export type AgentConditions = Readonly<Record<Type, AgentCondition>>;

const unknown = (type: Type): AgentCondition => ({
  type,
  status: 'Unknown',
  reason: 'Starting',
  message: '',
});
export const noConditions: AgentConditions = {
  Connected: unknown('Connected'),
  Registered: unknown('Registered'),
};

/** The conditions after a phase; the same object where it says nothing about them. */
export function conditionsAfter(
  before: AgentConditions,
  { phase, message, detail }: PhaseEvent,
): AgentConditions {
  const { code, hint = '', reason = '' } = detail;
  const whole = hint === '' ? message : `${message}. ${hint}`;
  const set = (type: Type, status: AgentCondition['status'], why: string, text = whole): AgentConditions => ({
    ...before,
    [type]: { type, status, reason: why, message: cutText(text, 1024) },
  });
  switch (phase) {
    case 'connect':
      return code === undefined
        ? set('Connected', 'True', 'Connected')
        : set('Connected', 'False', codeAsReason(code));
    case 'waiting':
      return set('Registered', 'False', asReason(reason, 'Waiting'));
    case 'refused':
      return set('Registered', 'False', code === undefined ? 'Refused' : codeAsReason(code));
    // After a renewal that was refused for a moment, too.
    case 'renew':
    case 'approve':
    case 'ready':
      return set('Registered', 'True', 'Admitted');
    case 'leave':
      return set('Registered', 'False', 'Leaving');
    case 'preflight':
    case 'register':
    case 'rotate':
    case 'access':
    case 'member':
      return before;
  }
}

function saysTheSame(one: AgentConditions, other: AgentConditions): boolean {
  const words = (conditions: AgentConditions) =>
    Object.values(conditions).map(({ status, reason }) => `${status} ${reason}`);
  return words(one).join() === words(other).join();
}

const { deployments } = resources;
const name = 'rollcall-agent';

/**
 * Writes the conditions into the status of the agent's Deployment, beside those of Kubernetes. Only where one of them is another
 * now: an agent that asks again every few minutes writes nothing. What cannot be written is said once more with the next change.
 */
export function showConditions(
  client: Pick<KubeClient, 'apply'>,
  { namespace, logger }: { namespace: string; logger: Logger },
): OnPhase {
  let conditions = noConditions;
  let shown = noConditions;
  let writing: Promise<void> | undefined;

  async function write(): Promise<void> {
    while (!saysTheSame(conditions, shown)) {
      const now = conditions;
      const atTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const times = { lastUpdateTime: atTime, lastTransitionTime: atTime };
      const status = { conditions: Object.values(now).map((condition) => ({ ...condition, ...times })) };
      const { kind } = deployments;
      const object = { apiVersion: apiVersionOf(deployments), kind, metadata: { name, namespace }, status };
      await client.apply(deployments, object, { namespace, subresource: 'status', force: true });
      shown = now;
    }
  }

  return (event) => {
    conditions = conditionsAfter(conditions, event);
    writing ??= write()
      .catch((error: unknown) =>
        logger.warn({ err: toRollcallError(error) }, 'the conditions of the agent could not be shown'),
      )
      .finally(() => (writing = undefined));
  };
}
