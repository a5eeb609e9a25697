import type { NatsConnection } from '@nats-io/transport-node';
import { streamSize, type StreamSize } from '@rollcall/shared/bus';

export const streamNames = ['EVENTS', 'FACTS', 'DEAD'] as const;
export type StreamName = (typeof streamNames)[number];

/** The sizes of all streams of the hub. */
export async function streamSizes(nc: NatsConnection): Promise<Partial<Record<StreamName, StreamSize>>> {
  const sizes = await Promise.all(
    streamNames.map(async (name) => [name, await streamSize(nc, name)] as const),
  );
  return Object.fromEntries(sizes.filter(([, size]) => size !== undefined));
}

/** Bytes in the unit that has a readable number. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
