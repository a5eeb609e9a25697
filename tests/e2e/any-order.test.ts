import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectBus } from '@rollcall/shared/bus';
import type { ServiceName } from '@rollcall/shared/rights';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import type { ChildHandle } from '../../cli/up/process/child-process.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import { launchNatsServer, setupUser } from '../../cli/up/nats/nats-server.ts';
import { serviceNames as usualNames } from '../harness/service-process.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { startTestHub } from '../harness/test-hub.ts';

const serviceNames: readonly ServiceName[] = [...usualNames, 'agent-host'];

let hub: TestEmbeddedHub;
let ports: Readonly<Record<string, number>>;
let nats: ChildHandle | undefined;
const processes = new Set<RunningCli>();
const ready = new Map<ServiceName, RunningCli>();

/** A hub whose volume has not come yet: no NATS server, and nothing that one would find. */
beforeAll(async () => {
  hub = await startTestEmbeddedHub({ withServices: false });
  ports = await loopbackPorts(join(hub.up.stateDir, 'health-ports.json'), serviceNames);
  await hub.up.natsServer()?.kill();
  rmSync(join(hub.up.stateDir, 'nats', 'jetstream'), { recursive: true });
});
afterAll(async () => {
  await Promise.all([...processes].map((each) => each[Symbol.asyncDispose]()));
  await nats?.stop();
  await hub[Symbol.asyncDispose]();
});

function serve(name: ServiceName, changed: Record<string, string> = {}): RunningCli {
  const { logFile: _none, ...settings } = serviceSettings(hub.up.serviceOptions)[name];
  const file = join(hub.up.stateDir, `${name}${Object.keys(changed).join('')}.yaml`);
  const healthPort = Object.keys(changed).length === 0 ? ports[name] : 0;
  writeFileSync(file, stringify({ ...settings, healthPort, ...changed }), { mode: 0o600 });
  const cli = startCli(['serve', name, '--config', file]);
  processes.add(cli);
  return cli;
}

function serveStreams(): RunningCli {
  const { busServers = '', busCaFile = '' } = serviceSettings(hub.up.serviceOptions).registrar;
  const cli = startCli(['serve', 'streams'], {
    environment: {
      ROLLCALL_BUS_SERVERS: busServers,
      ROLLCALL_BUS_CA_FILE: busCaFile,
      ROLLCALL_IDENTITY_FILE: join(hub.up.stateDir, 'identities', 'setup.json'),
    },
  });
  processes.add(cli);
  return cli;
}

interface Health {
  readonly status: number;
  readonly body: string;
}

/** @returns undefined while it does not listen yet */
async function ask(name: ServiceName, path: '/livez' | '/readyz'): Promise<Health | undefined> {
  const answer = await fetch(`http://127.0.0.1:${ports[name]}${path}`).catch(() => undefined);
  return answer && { status: answer.status, body: await answer.text() };
}

const untilEachSays = (status: number, text: RegExp) =>
  Promise.all(
    serviceNames.map((name) =>
      until(`${name} says ${status} ${text}`, async () => {
        const health = await ask(name, '/readyz');
        return health?.status === status && text.test(health.body);
      }),
    ),
  );

async function startNats(): Promise<void> {
  const { stateDir, natsAddress } = hub.up;
  nats = await launchNatsServer(hub.up.hub, {
    stateDir,
    name: 'nats-server',
    host: '127.0.0.1',
    port: Number(natsAddress.servers[0]?.split(':')[1]),
    isReady: async () => {
      await (await connectBus(natsAddress, setupUser(stateDir), 'setup')).close();
      return true;
    },
  });
}

test('services that start before NATS and before its streams wait, say what for, and become ready', async () => {
  const running = new Map(serviceNames.map((name) => [name, serve(name)]));
  await untilEachSays(503, /^waiting for the bus: cannot connect to 127\.0\.0\.1:/);
  for (const name of serviceNames) expect(await ask(name, '/livez'), name).toMatchObject({ status: 200 });

  // Told to stop meanwhile, each of them does, and has not failed.
  for (const [name, { child, result }] of running) {
    child.kill('SIGTERM');
    expect(await result, name).toMatchObject({ code: 0 });
  }
  const streams = serveStreams();
  await streams.line(/^waiting for the bus: cannot connect/);
  streams.child.kill('SIGTERM');
  expect(await streams.result).toMatchObject({ code: 0, stdout: '' });

  for (const name of serviceNames) ready.set(name, serve(name));
  await untilEachSays(503, /^waiting for the bus: cannot connect/);
  await startNats();
  await untilEachSays(503, /^waiting for the bus: the streams of the hub are not there yet/);
  expect(await serveStreams().result).toMatchObject({ code: 0 });
  await untilEachSays(200, /^ok/);
  await hub.startAgent({ name: 'early', token: (await hub.createToken()).text });
  await hub.untilReady('early');
});

test('what waiting does not mend ends a service at once, with its true cause', async () => {
  await using other = await startTestHub();
  const theirs = other.serviceSettings('heartbeat');
  const stranger = await serve('heartbeat', { identityFile: theirs['identityFile'] ?? '' }).result;
  expect(stranger).toMatchObject({ code: 3, stderr: expect.stringMatching(/^code: BUS_REFUSED$/m) });
  const misled = await serve('registrar', { busCaFile: theirs['busCaFile'] ?? '' }).result;
  expect(misled).toMatchObject({ code: 1, stderr: expect.stringMatching(/^code: CONFIG_INVALID$/m) });
  expect(misled.stderr).toContain('the CA that is given is not the server');
});

test('a service that cannot begin its work ends, whatever of it runs by then', async () => {
  await using other = await startTestHub();
  const read = (file = '') => JSON.parse(readFileSync(file, 'utf8')) as { callout: object };
  const { callout } = read(other.serviceSettings('registrar')['identityFile']);
  const own = read(serviceSettings(hub.up.serviceOptions).registrar['identityFile']);
  // Everything works but the last connection that it makes.
  const identityFile = join(hub.up.stateDir, 'other-callout.json');
  writeFileSync(identityFile, JSON.stringify({ ...own, callout }), { mode: 0o600 });
  const late = await serve('registrar', { identityFile }).result;
  expect(late).toMatchObject({ code: 3, stderr: expect.stringMatching(/^code: BUS_REFUSED$/m) });
});

test('services whose bus goes away end when they are told to, although nobody hears their goodbye', async () => {
  await nats?.kill();
  await untilEachSays(503, /not connected to the bus/);
  for (const { child } of ready.values()) child.kill('SIGTERM');
  for (const [name, { result }] of ready) expect(await result, name).toMatchObject({ code: 0 });
});
