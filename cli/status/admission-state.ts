import { admissionDifferences } from '@rollcall/shared/admission';
import type { KubeClient } from '@rollcall/shared/kubernetes';

/**
 * Whether the admission policies around people are there (principle 9). Only looks; whether they refuse as they must, the approver tries itself.
 * @returns what is missing or has been changed; empty: it is in place
 * @throws KubeApiError, where this person may not look
 */
export async function admissionFindings(client: Pick<KubeClient, 'list'>): Promise<string[]> {
  return (await admissionDifferences(client)).map(({ problem }) => problem);
}
