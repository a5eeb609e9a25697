import type { ClusterRecord, Hosting } from '@rollcall/shared/events';
import { asReason } from '@rollcall/shared/resources/condition-reason';
import type { Judged } from '../condition-list.ts';

const statusOf = { probed: 'True', installed: 'True', failed: 'False' } as const satisfies Record<
  Hosting['state'],
  Judged['status']
>;

/** How far the hub has come with a cluster that it reaches by a kubeconfig; other clusters do not have this condition. */
export function hostedCondition({ decision, hosting, lastOf }: ClusterRecord): Judged[] {
  const wanted = decision?.predefined?.kubeconfig;
  if (wanted === undefined) return [];
  const type = 'Hosted';
  const said = lastOf['agent-host'];
  if (!hosting || !said || hosting.sinceMs !== wanted.sinceMs) {
    const message = 'the agent host has not looked at the member yet';
    return [{ type, status: 'Unknown', reason: 'Waiting', message, atMs: wanted.sinceMs }];
  }
  const reason = asReason(said.reason, 'Unknown');
  return [{ type, status: statusOf[hosting.state], reason, message: said.message, atMs: hosting.atMs }];
}
