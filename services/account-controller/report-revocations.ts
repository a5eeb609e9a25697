import { mostRevocations } from '@rollcall/shared/rights';
import type { Logger, Metrics } from '@rollcall/shared/service';
import type { KeepClaimsOptions } from './reconcile-account-claims.ts';
import { alarmingShare } from './revocation-list.ts';

/** Says how full the revocation list is: in figures always, in the log where somebody should look. */
export function reportList(metrics: Metrics, logger: Logger): NonNullable<KeepClaimsOptions['onList']> {
  return (size, dropped, droppedTakenBack) => {
    metrics.gauge('rollcall_trust_revocations', size);
    metrics.gauge('rollcall_trust_revocations_room', mostRevocations);
    metrics.gauge('rollcall_trust_revocations_dropped', dropped);
    if (droppedTakenBack > 0)
      logger.error(
        { count: droppedTakenBack },
        'the revocation list has no room for the oldest keys that were taken back',
      );
    else if (dropped > 0)
      logger.error(
        { count: dropped },
        'the revocation list has no room for keys that agents replaced or gave up',
      );
    else if (size > alarmingShare * mostRevocations)
      logger.warn({ count: size }, 'the revocation list is filling up');
  };
}
