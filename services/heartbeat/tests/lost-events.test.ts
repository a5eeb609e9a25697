import type { Msg, NatsConnection, SubOpts } from '@nats-io/transport-node';
import { streamState } from '@rollcall/shared/bus';
import type { ClusterRecord } from '@rollcall/shared/events';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { decideAs } from '../../../tests/harness/events.ts';
import { startTestHub } from '../../../tests/harness/test-hub.ts';
import { watchRecords } from '../members/follow-cluster-records.ts';
import { admitMember, surroundingsOf } from './test-member.ts';

/** As after the death of the server that stored them: events of that type are in the stream, and nobody is told. */
function withoutEvents(type: string, nc: NatsConnection): NatsConnection {
  const subscribe = (subject: string, options: SubOpts<Msg>) =>
    nc.subscribe(subject, subject.endsWith(`.${type}`) ? { ...options, callback: () => undefined } : options);
  return new Proxy(nc, {
    get: (target, name) => (name === 'subscribe' ? subscribe : Reflect.get(target, name, target)),
  });
}

test('an event that was stored and never told is found all the same', async () => {
  await using hub = await startTestHub();
  const around = await surroundingsOf(hub);
  await admitMember(around, 'put-out', { intervalSeconds: 60, graceSeconds: 180 });
  const nc = await hub.connectAs('heartbeat');
  const log = await hub.openLog('heartbeat');
  const verdicts: string[] = [];
  const watch = watchRecords(withoutEvents('denied', nc), {
    log,
    logger: pino({ level: 'silent' }),
    isNews: () => true,
    isKnown: () => true,
    changed: (_id, { decision }: ClusterRecord) => verdicts.push(decision?.verdict ?? ''),
  });
  watch.isKnownUpTo((await streamState(nc, 'EVENTS')).lastSequence);
  watch.open();
  await nc.flush();
  await decideAs(around.approverLog, 'put-out', 'denied');
  await expect
    .poll(
      () => {
        watch.lookAgain();
        return verdicts;
      },
      { timeout: 30_000 },
    )
    .toEqual(['denied']);
  await watch.stop();
});
