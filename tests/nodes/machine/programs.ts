import { goProgram } from '../../harness/go-programs.ts';
import { pinnedTools } from '../../../tools/setup/pinned-tools.mjs';
import { step } from './run.ts';

/** What a node runs beside the programs of a hub. */
export type Programs = Readonly<Record<'kubelet' | 'kube-proxy' | 'kube-scheduler' | 'coredns', string>>;

/** Builds them from the modules that are pinned; a minute or two the first time, a moment after it. */
export function buildPrograms(): Promise<Programs> {
  return step('building kubelet, kube-proxy, kube-scheduler and CoreDNS', async () => {
    // Those of the API server: a program without them believes to be of version 0.
    const { ldflags } = pinnedTools.find(({ name }) => name === 'kube-apiserver')?.go ?? { ldflags: '' };
    const of = (name: string) =>
      goProgram('kubernetes', name, `k8s.io/kubernetes/cmd/${name}`, `-s -w ${ldflags}`);
    // One after the other: Go uses all cores for each.
    const kubelet = await of('kubelet');
    const proxy = await of('kube-proxy');
    const scheduler = await of('kube-scheduler');
    const coredns = await goProgram('coredns', 'coredns');
    return { kubelet, 'kube-proxy': proxy, 'kube-scheduler': scheduler, coredns };
  });
}
