import { setTimeout as delay } from 'node:timers/promises';
import { openEventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { HubTrust } from '@rollcall/shared/events';
import { connectAsInspector } from '../up/state/people-connection.ts';
import type { HubFiles } from './hub-files.ts';

const toldWithinMs = 60_000;
const everyMs = 200;

/**
 * Waits until the account-controller tells that the servers act on what it was given.
 * @throws RollcallError DEADLINE_EXCEEDED, BUS_UNREACHABLE while the hub does not run
 */
export async function untilTold(
  files: HubFiles,
  what: string,
  isSo: (trust: HubTrust) => boolean,
): Promise<void> {
  const { epoch } = files.read('hub');
  const withinMs = files.readWithinMs + toldWithinMs;
  await files.publish();
  const nc = await connectAsInspector(files.stateDir, files.address);
  try {
    const log = await openEventLog(nc, { epoch, source: '/rollcall/cli' });
    for (const deadlineMs = performance.now() + withinMs; performance.now() < deadlineMs;) {
      const { lastOf } = await log.read({ kind: 'hub', id: 'trust' });
      // The cast is sound: decodeEvent has parsed the section.
      const told = lastOf['account-controller']?.section as HubTrust | undefined;
      if (told && isSo(told)) return;
      await delay(everyMs);
    }
  } finally {
    await nc.close();
  }
  throw new RollcallError(
    'DEADLINE_EXCEEDED',
    `the account-controller has not told within ${withinMs / 1000} s that ${what}; run the same command again`,
  );
}
