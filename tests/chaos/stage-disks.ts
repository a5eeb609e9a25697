import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSmallDisk, type SmallDisk } from '../harness/small-disk.ts';

/** What one NATS server writes to. */
export interface StageDisk {
  readonly disk: SmallDisk;
  /** How often the server has said so. */
  refusedWrites(): number;
}

const diskBytes = 256 * 2 ** 20;

/** A disk for each NATS server of the hub that will be in that directory, by the names that schedules use. */
export async function openDisks(
  base: string,
  { stateDir, servers }: { stateDir: string; servers: number },
): Promise<Map<string, StageDisk>> {
  const disks = new Map<string, StageDisk>();
  for (let index = 1; index <= servers; index++) {
    const name = index === 1 ? 'nats' : `nats-${index}`;
    const directory = join(stateDir, name, 'jetstream');
    const disk = await openSmallDisk({ directory, image: join(base, `${name}.disk`), sizeBytes: diskBytes });
    const log = join(stateDir, 'logs', `${name.replace('nats', 'nats-server')}.log`);
    disks.set(`nats ${index}`, {
      disk,
      refusedWrites: () => readFileSync(log, 'utf8').split('no space left on device').length - 1,
    });
  }
  return disks;
}
