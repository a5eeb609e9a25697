import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { foldersIn } from './clean-up.ts';

/** What a container may have, and what it has that cannot be taken from it, as the kubelet counts. */
export interface ContainerMemory {
  readonly limitBytes: number;
  readonly workingSetBytes: number;
}

/**
 * Reads the cgroup of a container.
 * @param id - as Kubernetes shows it, `containerd://…`
 * @returns undefined where there is none of that id below that cgroup
 */
export function memoryOf(cgroup: string, id: string): ContainerMemory | undefined {
  const name = id.replace('containerd://', '');
  const folder = foldersIn(join('/sys/fs/cgroup/memory', cgroup)).find((one) => one.endsWith(`/${name}`));
  if (folder === undefined) return undefined;
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const [, inactive = '0'] = /^total_inactive_file (\d+)$/m.exec(read('memory.stat')) ?? [];
  return {
    limitBytes: Number(read('memory.limit_in_bytes')),
    workingSetBytes: Number(read('memory.usage_in_bytes')) - Number(inactive),
  };
}
