import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import type { ServiceName } from '@rollcall/shared/rights';
import { askServices, serviceNames } from '../status/ask-services.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** @param lets - which of its questions it lets pass, counted from 1 */
async function answerAs(name: ServiceName, lets: (count: number) => boolean): Promise<void> {
  const nc = await hub.connectAs(name);
  let count = 0;
  nc.subscribe('$SRV.STATS', {
    callback: (_error, message) => {
      if (!lets(++count)) return;
      const said = { name, id: `the-${name}`, version: '0.1.0', started: '', data: { ready: 1 } };
      message.respond(JSON.stringify(said));
    },
  });
  await nc.flush();
}

test('one that misses the first question is asked again, and nobody counts twice', async () => {
  for (const name of serviceNames as ServiceName[]) {
    await answerAs(name, name === 'heartbeat' ? (count) => count > 1 : () => true);
  }
  const answers = await askServices(await hub.connectAs('inspector'));
  expect(answers.map(({ name }) => name)).toEqual([...serviceNames].toSorted());
});
