import type { AgentRefusal } from '@rollcall/shared/tunnel';
import type { Refusal } from './status-answer.ts';

const codes: Readonly<Record<AgentRefusal, Refusal['code']>> = {
  version: 503,
  off: 403,
  who: 403,
  path: 400,
  busy: 429,
  member: 502,
};

/** What a person is told where an agent does not pass a request on. What to do about an agent that is too old, it cannot know itself. */
export function agentRefusal({ refused, why }: { refused: AgentRefusal; why: string }): Refusal {
  const whatToDo =
    refused === 'version'
      ? '; upgrade it with its chart or `rollcall install agent` (status.agentVersion of the ManagedCluster is what it runs)'
      : '';
  return { code: codes[refused], message: `${why}${whatToDo}` };
}
