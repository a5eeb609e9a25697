import type { HistoryWitness } from '@rollcall/shared/bus';
import type { KubeView } from './kube-view.ts';

interface Shown {
  readonly status?: { readonly observed?: { epoch: number; sequence: number; digest?: string } };
}

/**
 * The newest event of this epoch of the hub that any object shows: the history must have it (ADR 16).
 * @returns undefined where nothing shows one
 */
export function newestShown(
  view: Pick<KubeView, 'clusters' | 'requests' | 'tokens' | 'policies'>,
  epoch: number,
): HistoryWitness | undefined {
  const { clusters, requests, tokens, policies } = view;
  let newest: HistoryWitness | undefined;
  for (const kind of [clusters, requests, tokens, policies] as const) {
    for (const { status } of kind.list() as Shown[]) {
      const { digest, sequence = 0, epoch: shown } = status?.observed ?? {};
      if (shown !== epoch || digest === undefined || sequence <= (newest?.sequence ?? 0)) continue;
      newest = { epoch, sequence, digest };
    }
  }
  return newest;
}
