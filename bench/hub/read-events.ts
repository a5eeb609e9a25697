import { openEventLog } from '@rollcall/shared/bus';
import type { StoredEvent } from '@rollcall/shared/events';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import type { HubReport } from './hub-process.ts';

/** @param filter - subjects below `rollcall.events.` */
export async function readEvents(report: HubReport, filter: string): Promise<StoredEvent[]> {
  const nc = await connectAsInspector(report.stateDir, { servers: report.addresses, caPem: report.caPem });
  try {
    const log = await openEventLog(nc, { epoch: report.epoch, source: '/rollcall/bench' });
    return await Array.fromAsync(log.scan({ filter }));
  } finally {
    await nc.close();
  }
}
