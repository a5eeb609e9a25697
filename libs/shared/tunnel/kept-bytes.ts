import { TunnelAborted } from './tunnel-aborted.ts';

/** As far as what a stream keeps is concerned. */
interface Keeping {
  readonly keptBytes: number;
  destroy(error: Error): unknown;
}

/**
 * Bounds what all streams of a process keep together of what was sent and nobody takes: a window each would be many times the memory of
 * the process. Who keeps the most ends first; who reads is never it.
 * @param streams - those that are open
 * @returns what each stream says its changes to, in bytes
 */
export function boundKept(streams: () => Iterable<Keeping>, mostBytes: number): (deltaBytes: number) => void {
  let kept = 0;
  return (deltaBytes) => {
    kept += deltaBytes;
    if (deltaBytes <= 0 || kept <= mostBytes) return;
    const [first, ...others] = streams();
    if (!first) return;
    const largest = others.reduce((most, one) => (one.keptBytes > most.keptBytes ? one : most), first);
    largest.destroy(new TunnelAborted('more is kept for readers that do not read than there is room for'));
  };
}
