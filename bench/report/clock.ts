/**
 * Now, in ms since the epoch with fractions: comparable between the processes of one machine as long as nobody sets its clock.
 */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
