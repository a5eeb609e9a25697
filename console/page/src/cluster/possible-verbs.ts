import type { ActionVerb, ClusterDescription } from '../../../rows/index.ts';

const ofPhase: Readonly<Record<string, readonly ActionVerb[]>> = {
  waiting: ['approve', 'deny'],
  pending: ['approve', 'deny'],
  held: ['approve', 'deny'],
  denied: ['approve', 'ban', 'unregister'],
  revoked: ['approve', 'ban', 'unregister'],
  banned: ['unban', 'unregister'],
  refused: ['deny'],
  predefined: ['unregister'],
  leaving: [],
  left: [],
};

/** What makes sense with a cluster as it is; whether the person may, the API server says. */
export function possibleVerbs({ phase, schedulable }: ClusterDescription): readonly ActionVerb[] {
  const mark = schedulable ? 'cordon' : 'uncordon';
  return ofPhase[phase] ?? [mark, 'move', 'rotate', 'deny', 'revoke', 'ban', 'unregister'];
}
