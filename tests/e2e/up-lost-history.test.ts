import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { until } from '../harness/embedded.ts';
import { type Run, useUpProcess } from '../harness/up-process.ts';

const { base, home, rollcall, upAndReady, processesOfHub, pidOf } = useUpProcess();

async function stop(run: Run): Promise<void> {
  run.child.kill('SIGINT');
  expect(await run.ended, run.output()).toBe(0);
}

test('a loss that only Kubernetes shows is said once, and the hub is not said to be running', async () => {
  const nats = join(home(), 'nats');
  const older = join(base(), 'older');
  await stop(await upAndReady('--port', '0'));
  cpSync(nats, older, { recursive: true });
  const second = await upAndReady();
  const ban = rollcall('ban', 'local', '--reason', 'stolen');
  expect(await ban.ended, ban.output()).toBe(0);
  await until('it is shown', async () => {
    const clusters = rollcall('get', 'clusters');
    await clusters.ended;
    return /local +False/.test(clusters.output());
  });
  await stop(second);

  // With the witness of then: no service but the projector can miss anything.
  rmSync(nats, { recursive: true });
  cpSync(older, nats, { recursive: true });
  const third = rollcall('up');
  await until('it is said', async () => third.output().includes('This hub is "'));
  const status = rollcall('status');
  expect(await status.ended, status.output()).toBe(1);
  await stop(third);
  expect(third.output().match(/HISTORY_LOST/g), third.output()).toHaveLength(1);
  expect(third.output()).not.toContain('The hub is running');
});

test('a server that does not stay is given up: `up` says so, names its log, hears signals and leaves nothing running', async () => {
  const up = await upAndReady('--port', '0');
  const killed = new Set<number>();
  await until('it is given up', async () => {
    try {
      const pid = pidOf('nats-server');
      if (!killed.has(pid)) process.kill(pid, 'SIGKILL');
      killed.add(pid);
    } catch {
      // Between two epochs.
    }
    return up.output().includes('does not stay');
  });
  const code = await up.ended;
  expect(code, up.output()).toBe(1);
  expect(up.output()).toMatch(/^code: CHILD_FAILED$/m);
  const named = /\((\/.*nats-server\.log)\)/.exec(up.output())?.[1] ?? '';
  expect(existsSync(named), up.output()).toBe(true);
  expect(processesOfHub()).toEqual([]);
});

test('the first signal ends an `up` that is giving up', async () => {
  const up = await upAndReady('--port', '0');
  // The API server is not started again; what it leaves behind takes a while to be stopped.
  process.kill(pidOf('etcd', 'kubernetes'), 'SIGKILL');
  await until('it is said', async () => up.output().includes('does not stay'));
  up.child.kill('SIGTERM');
  expect(await up.ended, up.output()).toBe(1);
  await until('nothing is left', async () => processesOfHub().length === 0);
});
