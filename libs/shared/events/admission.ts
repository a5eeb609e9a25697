import type { Identity } from './registrar-events.ts';

/** Whether what is known under that key is known of the key that is admitted: it is that one, or the one it took over from. */
export function isOfAdmittedKey(
  identity: Pick<Identity, 'admittedKey' | 'rotatedFrom'> | undefined,
  key: string,
): boolean {
  return (
    identity?.admittedKey !== undefined && (key === identity.admittedKey || key === identity.rotatedFrom)
  );
}
