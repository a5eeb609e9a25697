import type { ContainerStatus, Pod } from './workloads.ts';

/** Waiting that is no trouble: it is what every start looks like. */
const passing = new Set(['ContainerCreating', 'PodInitializing']);

function troubleOf({ name, state, lastState, restartCount = 0 }: ContainerStatus): string | undefined {
  const waiting = state?.waiting;
  const ended = state?.terminated ?? lastState?.terminated;
  const how = ended && `it ended with ${ended.exitCode ?? '?'}${ended.reason ? ` (${ended.reason})` : ''}`;
  if (waiting?.reason !== undefined && !passing.has(waiting.reason)) {
    const why = [waiting.message, how].filter(Boolean).join('; ');
    return `container ${name}: ${waiting.reason}${why === '' ? '' : `: ${why}`}`;
  }
  // One that prepares a pod has nothing more to do, however often it was started before.
  if (state?.terminated) return state.terminated.exitCode === 0 ? undefined : `container ${name}: ${how}`;
  return restartCount > 0 && how !== undefined ? `container ${name}: started again, ${how}` : undefined;
}

/** Why a pod does not run, in the words of Kubernetes; undefined while nothing is in its way. */
export function podTrouble({ status = {} }: Pod): string | undefined {
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False') {
    return `not scheduled: ${scheduled.message ?? scheduled.reason ?? 'no reason given'}`;
  }
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return containers.map(troubleOf).find((trouble) => trouble !== undefined);
}
