import { type KubeClient, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { say } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { untilAvailable } from '../until-available.ts';
import { statefulSets } from '../workloads.ts';

const namespace = 'rollcall-system';

/**
 * Waits until every workload among these objects runs, the servers first, and says each.
 * @throws RollcallError DEADLINE_EXCEEDED with what was last in the way
 */
export async function untilAllRun(
  client: KubeClient,
  objects: readonly KubeObject[],
  timeoutMs: number,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  const untilRuns = async (resource: Resource, name: string) => {
    await untilAvailable(client, { resource, name, namespace }, Math.max(1, endMs - performance.now()));
    say(`[ready] ${resource.kind} ${name}`);
  };
  for (const resource of [statefulSets, resources.deployments]) {
    const all = objects.filter(({ kind }) => kind === resource.kind);
    await withProgress(
      `waiting until every ${resource.kind} runs`,
      Promise.all(all.map(({ metadata: { name = '' } }) => untilRuns(resource, name))),
    );
  }
}
