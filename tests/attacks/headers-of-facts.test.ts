import { setTimeout as delay } from 'node:timers/promises';
import { streamState } from '@rollcall/shared/bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningService } from '@rollcall/shared/service';
import * as projector from '@rollcall/projector';
import { serviceUser, startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { connectRaw } from '../harness/raw-bus.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** A stolen registrar stores facts with a header that nats.js cannot take apart: that ended the reading of the projector's connection. */
let hub: TestHub;
let plane: TestControlPlane;
let running: RunningService;
beforeAll(async () => {
  [hub, plane] = await Promise.all([startTestHub(), startTestControlPlane()]);
  running = await projector.start(
    projector.configSchema.parse({
      ...hub.serviceSettings('projector'),
      kubeconfig: plane.kubeconfigFor(serviceUser('projector'), ['system:serviceaccounts']),
    }),
  );
});
afterAll(async () => {
  await running?.stop();
  await Promise.all([hub?.[Symbol.asyncDispose](), plane?.[Symbol.asyncDispose]()]);
});

test('facts with a header that cannot be read end no connection’s reading', async () => {
  await expect.poll(() => running.notReady(), { timeout: 30_000 }).toBeUndefined();
  const ops = await hub.connectAs('ops');
  expect(await streamState(ops, 'EVENTS')).toBeDefined();
  await using thief = await connectRaw(hub, hub.credentialsOf('registrar'));
  expect(
    await thief.send([{ subject: 'rollcall.facts.some-one', headers: { 'a b': 'x' }, body: '{}' }]),
  ).toBe(1);
  await delay(1000);
  const asked = () =>
    ops
      .request('rollcall.history.read', '{"state":true}', { timeout: 15_000 })
      .then(() => 'answered', String);
  expect.soft(await asked()).toBe('answered');
  expect(running.notReady()).toBeUndefined();
}, 60_000);
