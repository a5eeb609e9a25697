import type { NatsConnection } from '@nats-io/transport-node';
import { loadConfig } from '@rollcall/shared/config';
import {
  commonConfig,
  readIdentity,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { readOpenMetrics } from '../harness/open-metrics.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

const schema = z.strictObject(commonConfig);
let hub: TestHub;
const started: RunningService[] = [];
const idle: ServiceWork = { drain: async () => undefined };
beforeEach(async () => {
  hub = await startTestHub();
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.stop()));
  await hub[Symbol.asyncDispose]();
});

interface Options {
  readonly settings?: Record<string, string>;
  readonly work?: (nc: NatsConnection, context: ServiceContext) => ServiceWork | Promise<ServiceWork>;
  readonly waitsUntil?: AbortSignal;
}

async function start({ settings = {}, work = () => idle, waitsUntil }: Options = {}) {
  const values = { ...hub.serviceSettings('heartbeat'), healthPort: '0', ...settings };
  const config = loadConfig(schema, { flags: {}, environment: {}, values });
  const service = await runService({
    name: 'heartbeat',
    description: 'a service in a test',
    config,
    identity: readIdentity(config.identityFile, {}),
    waitsUntil,
    work: async (context) => {
      const { nc, metrics } = context;
      metrics.count('rollcall_connection_notices_total', { kind: 'connected' });
      return work(nc, context);
    },
  });
  started.push(service);
  return service;
}

async function fetchFrom(service: RunningService, path: string): Promise<Response> {
  return fetch(`http://127.0.0.1:${service.healthPort}${path}`);
}

async function get(service: RunningService, path: string): Promise<{ status: number; body: string }> {
  const response = await fetchFrom(service, path);
  return { status: response.status, body: await response.text() };
}

test('a server that acknowledges before it has written is refused, unless that was asked for in so many words', async () => {
  // Acknowledges before it has written, as NATS does by default.
  await hub.natsServer.restartChanged((config) => config.replace(', sync_interval: always', ''));
  await expect(start()).rejects.toMatchObject({ code: 'BUS_UNSAFE' });
  const service = await start({ settings: { allowUnsafeBus: 'true' } });
  expect(service.notReady()).toBeUndefined();
});

test('it answers for its life, its readiness and its figures, and for nothing else', async () => {
  let why: string | undefined = 'the callout is not connected';
  const service = await start({ work: () => ({ notReady: () => why, drain: async () => undefined }) });
  expect(await get(service, '/livez')).toEqual({ status: 200, body: 'ok\n' });
  expect(await get(service, '/readyz')).toEqual({ status: 503, body: why });
  why = undefined;
  expect(await get(service, '/readyz')).toEqual({ status: 200, body: 'ok\n' });
  const scraped = await fetchFrom(service, '/metrics');
  expect(scraped.headers.get('content-type')).toBe(
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  );
  const families = readOpenMetrics(await scraped.text());
  const valueOf = (name: string) => families.get(name)?.samples[0]?.value;
  expect(valueOf('rollcall_connection_notices')).toBe(1);
  expect(valueOf('rollcall_ready')).toBe(1);
  expect(valueOf('rollcall_bus_connected')).toBe(1);
  expect(valueOf('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  for (const path of ['/', '/livez/x', '/__proto__', '/constructor'])
    expect((await get(service, path)).status).toBe(404);
});

test('it says who it is, and its figures, to people who ask the bus', async () => {
  await start({ work: () => ({ stats: () => ({ heartbeats: 7 }), drain: async () => undefined }) });
  const ops = await hub.connectAs('inspector');
  for (const [verb, type] of [
    ['PING', 'ping_response'],
    ['INFO', 'info_response'],
    ['STATS', 'stats_response'],
  ]) {
    const answer = await ops.request(`$SRV.${verb}.heartbeat`, '', { timeout: 5000 });
    expect(answer.json()).toMatchObject({
      type: `io.nats.micro.v1.${type}`,
      name: 'heartbeat',
      metadata: { epoch: '1' },
      ...(verb === 'STATS' ? { data: { ready: 1, heartbeats: 7 } } : {}),
    });
  }
});

test('a bus that goes away while the work begins is waited for, by each of its connections', async () => {
  const connections: NatsConnection[] = [];
  const service = await start({
    waitsUntil: new AbortController().signal,
    async work(_nc, { connectAgain, connectAs }) {
      await hub.natsServer.kill();
      const connecting = [connectAgain(), connectAs(hub.credentialsOf('heartbeat'), 'heartbeat')];
      await Promise.all([
        ...connecting.map(async (one) => connections.push(await one)),
        hub.natsServer.restart(),
      ]);
      return idle;
    },
  });
  await expect.poll(() => service.notReady()).toBeUndefined();
  await service.stop();
  await expect.poll(() => connections.map((nc) => nc.isClosed())).toEqual([true, true]);
});

test('a lost server shows in its readiness, and it stops without it', async () => {
  const lost = Promise.withResolvers<void>();
  const service = await start({
    work: (nc) => {
      void (async () => {
        for await (const { type } of nc.status()) if (type === 'disconnect') lost.resolve();
      })();
      return { drain: async () => nc.flush() };
    },
  });
  await hub.natsServer.kill();
  await lost.promise;
  expect(await get(service, '/readyz')).toEqual({ status: 503, body: 'not connected to the bus' });
  expect((await get(service, '/livez')).status).toBe(200);
  await service.stop();
  expect(service.notReady()).toBe('stopping');
});

test('a start that fails gives the connection and the port back', async () => {
  const first = await start();
  const busy = String(first.healthPort);
  await expect(start({ settings: { healthPort: busy } })).rejects.toMatchObject({ code: 'PORT_BUSY' });
  await first.stop();
  let connection: NatsConnection | undefined;
  const work = (nc: NatsConnection) => {
    connection = nc;
    throw new TypeError('a bug at start');
  };
  await expect(start({ settings: { healthPort: busy }, work })).rejects.toThrow('a bug at start');
  expect(connection?.isClosed()).toBe(true);
  await start({ settings: { healthPort: busy } });
});

test('health and metrics are on loopback, and on another address only where that is said', async () => {
  const loopback = await start();
  const elsewhere = (service: RunningService) =>
    fetch(`http://127.0.0.2:${service.healthPort}/livez`).then(
      ({ status }) => status,
      () => 'refused',
    );
  expect(await elsewhere(loopback)).toBe('refused');
  const told = await start({ settings: { healthAddress: '127.0.0.2' } });
  expect(await elsewhere(told)).toBe(200);
  await expect(start({ settings: { healthAddress: 'everywhere' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});

test('work that cannot be drained does not keep the connection', async () => {
  let connection: NatsConnection | undefined;
  const service = await start({
    work: (nc) => {
      connection = nc;
      return { drain: () => Promise.reject(new Error('no')) };
    },
  });
  started.length = 0;
  await expect(service.stop()).rejects.toThrow('no');
  expect(connection?.isClosed()).toBe(true);
});

test('a CA file that is not there is named', async () => {
  await expect(start({ settings: { busCaFile: '/nowhere/ca.pem' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  });
});
