import { setFlagsFromString } from 'node:v8';

/**
 * An agent does a few milliseconds of work a minute, in every member: memory counts, speed does not. Without the optimising
 * compilers and with a small young generation it is 64 MB resident instead of 80 (measured, compiled, Node 24.21).
 * Must run before the agent is imported, because code that is compiled already is kept.
 */
export function preferSmallFootprint(): void {
  for (const flag of [
    '--no-opt',
    '--no-maglev',
    '--no-sparkplug',
    '--single-threaded-gc',
    '--optimize-for-size',
    '--max-semi-space-size=1',
  ]) {
    setFlagsFromString(flag);
  }
}
