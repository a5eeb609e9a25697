import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../harness/embedded.ts';
import { useUpProcess } from '../harness/up-process.ts';

/** More of them than a run of all tests has time for: ROLLCALL_KILLS=200. */
const kills = Number(process.env['ROLLCALL_KILLS'] ?? 9);
/** Everybody is about to be connected again, or just is: connections end in every state that they have. */
const shortLifeMs = 1000;
/** `up` gives a server up that ends soon after its start for the sixth time in a row; this is not soon, also where a server needs seconds to start. */
const longLifeMs = 20_000;

const { rollcall, upAndReady, processesOfHub, pidOf } = useUpProcess();

test(
  'nats-server is killed under `rollcall up` again and again: it stays, starts it again, and everybody goes on',
  { timeout: 300_000 + kills * 15_000 },
  async () => {
    const up = await upAndReady('--port', '0');
    let pid = pidOf('nats-server');
    for (let kill = 1; kill <= kills; kill++) {
      await delay(kill % 5 === 0 ? longLifeMs : shortLifeMs + ((kill * 137) % 600));
      const killed = pid;
      process.kill(killed, 'SIGKILL');
      await until(`it is started again after kill ${kill}`, async () => {
        expect(up.child.exitCode, up.output()).toBeNull();
        pid = await Promise.resolve()
          .then(() => pidOf('nats-server'))
          .catch(() => killed);
        return pid !== killed;
      });
    }
    await until('status says well of everybody', async () => {
      const status = rollcall('status');
      return (await status.ended) === 0;
    });
    const clusters = rollcall('get', 'clusters');
    await clusters.ended;
    expect(clusters.output()).toMatch(/local +True +True/);
    expect(up.output()).not.toMatch(/unhandled|ERR_STREAM/i);
    up.child.kill('SIGINT');
    expect(await up.ended, up.output()).toBe(0);
    expect(processesOfHub()).toEqual([]);
  },
);
