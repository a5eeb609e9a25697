import { setImmediate as immediate } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import type { AggregateRecord } from '@rollcall/shared/events';
import { expect, onTestFinished, test } from 'vitest';
import type { ProposedTransition } from '../engine/liveness-signals.ts';
import { aMember } from '../tests/builders.ts';
import { writeBatch } from './transition-batch.ts';

const suspected: ProposedTransition = {
  clusterId: 'c1',
  number: 1,
  from: 'ready',
  state: 'suspect',
  cause: 'ConnectionLost',
  decidedAtMs: 40_000,
  lastHeartbeatMs: 10_000,
};

function recordOfMember(): AggregateRecord {
  const { aggregate, head, newest, identity, decision, liveness } = aMember({});
  const lastOf = {
    registrar: { section: identity },
    approver: { section: decision },
    heartbeat: { section: liveness },
  };
  return { aggregate, head, newest, lastOf } as unknown as AggregateRecord;
}

test('a batch that cannot be written is told to whoever wrote it, and nothing else fails: chaos, seed 3007', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const log = {
    read: async () => recordOfMember(),
    append: () => Promise.reject(new RollcallError('BUS_UNREACHABLE', 'the bus did not answer')),
  };
  const parts = {
    log,
    clock: { monotonicMs: () => 40_000, hubMs: () => 40_000 },
    flap: { losses: 3, windowMs: 60_000 },
  };
  // Nobody joins in it, so nothing waits for its end but its writer.
  await expect(writeBatch([suspected], parts)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  await immediate();
  expect(unhandled).toEqual([]);
});
