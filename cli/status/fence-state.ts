import { fenceDifferences } from '@rollcall/shared/fence';
import type { KubeClient } from '@rollcall/shared/kubernetes';

/**
 * Whether the fence around people is there (principle 9). Only looks; whether it refuses as it must, the approver tries itself.
 * @returns what is missing or has been changed; empty: it is in place
 * @throws KubeApiError, where this person may not look
 */
export async function fenceFindings(client: Pick<KubeClient, 'list'>): Promise<string[]> {
  return (await fenceDifferences(client)).map(({ problem }) => problem);
}
