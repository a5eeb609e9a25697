import type { ContainerStatus, Pod } from './workloads.ts';

/** Waiting that is no trouble: it is what every start looks like. */
const passing = new Set(['ContainerCreating', 'PodInitializing']);

/** Of what a process said before it ended, the error that it ended with; a line of a log is no message. */
function lastError(said = ''): string {
  const error = said.split('\n').findLast((line) => line.startsWith('error: '));
  return error === undefined ? '' : `: ${error.slice('error: '.length)}`;
}

function troubleOf({ name, state, lastState, restartCount = 0 }: ContainerStatus): string | undefined {
  const waiting = state?.waiting;
  const ended = state?.terminated ?? lastState?.terminated;
  const why = ended?.reason ? ` (${ended.reason})` : '';
  const how = ended && `it ended with ${ended.exitCode ?? '?'}${why}${lastError(ended.message)}`;
  if (waiting?.reason !== undefined && !passing.has(waiting.reason)) {
    const told = [waiting.message, how].filter(Boolean).join('; ');
    return `container ${name}: ${waiting.reason}${told === '' ? '' : `: ${told}`}`;
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

/** Whether a pod says nothing of itself because it has not come so far: its volumes, its network. */
export function isBeingMade({ status = {} }: Pod): boolean {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return (
    status.phase === 'Pending' &&
    (containers.length === 0 || containers.some(({ state }) => passing.has(state?.waiting?.reason ?? '')))
  );
}

const steps = [
  {
    about: /ImagePull|ErrImage|InvalidImageName/,
    next: 'Put the image where the nodes can pull it, or name another one (values `image`, `nats.image`, `imagePullSecrets`), and install again.',
  },
  {
    about: /[Ss]ecret "|Authorization Violation|the CA that is given is not the server's/,
    next: 'Install again with the keys of the hub (`rollcall install hub --keys DIR`, with --only-keys where Helm installs): that makes its Secrets anew. While a restore is under way it is `rollcall restore`, the same again, that gives them back.',
  },
  {
    about: /StatefulSet .* is missing/,
    next: 'Install the hub again, with its keys and values (`rollcall install hub --keys DIR`, or `helm upgrade`). If the volume is lost too, restore a backup: `rollcall restore FILE --keys DIR --keep-kubernetes`.',
  },
  {
    about: /PersistentVolumeClaim|persistentvolumeclaim|[Ss]torage[Cc]lass/,
    next: '`kubectl get storageclass` shows which there are. The class of a claim stays as it is: make a default one, or delete StatefulSet rollcall-nats and its claims while nothing is on them, and install again with nats.storageClassName.',
  },
] as const;

/** What to do about a trouble of a pod, or of what it is made of. */
export function stepAfter(trouble: string): string {
  const known = steps.find(({ about }) => about.test(trouble));
  return known?.next ?? '`kubectl --namespace rollcall-system describe pods` says more.';
}
