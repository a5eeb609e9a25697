import { accountOfNobody } from '@rollcall/shared/trust';
import type { HubKeys } from './nats-account-claims.ts';

/**
 * Where the servers keep which event the history had come to: as claims of an account without users. Those lie beside the streams
 * and not in them, and each server has them.
 */
export function witnessAccount({ sys }: Pick<HubKeys, 'sys'>): string {
  return accountOfNobody(`rollcall history witness of ${sys}`);
}

/** Claims that say that and give nobody anything. */
export function witnessClaims(description: string): Readonly<Record<string, unknown>> {
  const nothing = { subs: 0, data: 0, payload: 0, imports: 0, exports: 0, conn: 0, leaf: 0, wildcards: true };
  return { type: 'account', limits: nothing, description };
}
