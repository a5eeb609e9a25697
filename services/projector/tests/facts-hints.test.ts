import { openFactStore } from '@rollcall/shared/bus';
import { expect, test } from 'vitest';
import { startTestHub } from '../../../tests/harness/test-hub.ts';

test('a hint of facts names their sequence, and one of an end says that it is one', async () => {
  await using hub = await startTestHub();
  const projector = await hub.connectAs('projector');
  const hints: [string, number, boolean][] = [];
  const subscription = projector.subscribe('rollcall.stored-facts.*', { max: 2 });
  const hearing = (async () => {
    for await (const { subject, headers } of subscription)
      hints.push([subject, Number(headers?.get('Nats-Sequence')), headers?.has('Nats-TTL') ?? false]);
  })();
  await projector.flush();
  const facts = openFactStore(await hub.connectAs('registrar'));
  await facts.put('c-1', { livez: true }, 1);
  const stored = await openFactStore(projector).get('c-1');
  await facts.forget('c-1', stored?.sequence ?? 0);
  await hearing;
  const subject = 'rollcall.stored-facts.c-1';
  expect(hints).toEqual([
    [subject, stored?.sequence, false],
    [subject, (stored?.sequence ?? 0) + 1, true],
  ]);
});
