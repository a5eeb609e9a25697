import { setImmediate as turn } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { approved, draft, encodeEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { aDecision } from '../../../tests/harness/events.ts';
import { handleHeld } from './handle-held.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

const silent = (): void => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };

function storedEvent(sequence: number, clusterId: string) {
  const place = { aggregate: { kind: 'cluster', id: clusterId }, head: undefined } as const;
  const section = aDecision({ verdict: 'approved' });
  const stamp = { epoch: 1, source: '/rollcall/test', nowMs: 0, correlation: 'c' };
  const { subject, headers, body } = encodeEvent(
    draft(approved, place, { reason: 'R', message: 'm', section }),
    stamp,
  );
  const all = headers as Readonly<Record<string, string>>;
  return { subject, sequence, data: body, header: (name: string) => all[name] ?? '', headerNames: () => [] };
}

/** Some rounds, so that all that can be done is. */
async function settle(): Promise<void> {
  for (let rounds = 0; rounds < 20; rounds++) await turn();
}

test('behind one that waits, only what is held of the same cluster waits, in its order', async () => {
  const clusters = ['stuck', 'other', 'stuck', 'third'];
  const open = new Set([1, 2, 3, 4]);
  let isStuck = true;
  const handled: string[] = [];
  const held = {
    put: async () => undefined,
    moveToDead: async () => undefined,
    after: async (id: number) =>
      [...open].filter((one) => one > id).map((one) => ({ sequence: one, id: one })),
    eventAt: async (sequence: number) => storedEvent(sequence, clusters[sequence - 1] ?? ''),
    done: async (sequence: number) => void open.delete(sequence),
  };
  const stop = handleHeld(held, {
    service: 'approver',
    logger,
    onDead: silent,
    async handle({ id, sequence }) {
      if (id === 'stuck' && isStuck) throw new RollcallError('BUS_UNREACHABLE', 'not yet');
      handled.push(`${id} ${sequence}`);
    },
  });
  await settle();
  expect(handled).toEqual(['other 2', 'third 4']);
  isStuck = false;
  vi.advanceTimersToNextTimer();
  await settle();
  expect(handled).toEqual(['other 2', 'third 4', 'stuck 1', 'stuck 3']);
  await stop();
});
