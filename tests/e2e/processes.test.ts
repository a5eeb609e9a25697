import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterRecord, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../cli/up/control-plane/control-plane.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { startServiceProcess, startServiceProcesses, stopAll } from '../harness/service-process.ts';

const steps = ['admitted', 'approved', 'joined', 'provisioned', 'requested'];

async function typesOf(hub: TestEmbeddedHub, clusterId: string): Promise<string[]> {
  const events: StoredEvent[] = [];
  for await (const event of hub.log.scan({ filter: `cluster.${clusterId}.>` })) events.push(event);
  return events.map(({ type }) => type);
}

/** Ready does not wait for the namespace, so the last step may still be on its way. */
async function untilAllSteps(hub: TestEmbeddedHub, clusterId: string): Promise<string[]> {
  return until(`every step of ${clusterId}`, async () => {
    const types = await typesOf(hub, clusterId);
    return steps.every((step) => types.includes(step)) && types;
  });
}

/** A member with an API server of its own; its data lies in the hub's etcd, to spare the machine. */
async function startMember(
  hub: TestEmbeddedHub,
  name: string,
): Promise<ControlPlane & { directory: string }> {
  const directory = mkdtempSync(join(tmpdir(), `rollcall-member-${name}-`));
  const plane = await startControlPlane({
    stateDir: directory,
    withControllerManager: false,
    clusterName: name,
    sharedEtcd: { endpoint: hub.up.plane.etcdEndpoint, prefix: `/${name}` },
  });
  return Object.assign(plane, { directory });
}

test('every service in a process of its own: two members with API servers of their own join [RO-2, RO-3]', async () => {
  await using hub = await startTestEmbeddedHub({ withServices: false });
  const services = await startServiceProcesses(hub.up, 1);
  const members = await Promise.all(['east', 'west'].map((name) => startMember(hub, name)));
  try {
    for (const [index, name] of ['east', 'west'].entries()) {
      const member = members[index]?.access;
      if (!member) throw new Error('no member');
      await hub.startAgent({ name, member, token: (await hub.createToken()).text });
      const cluster = await hub.untilReady(name);
      expect(cluster.spec?.clusterId).toMatch(/^[0-9a-f-]{36}$/);
      expect(cluster.status?.kubernetesVersion).toBe('v1.36.3');
    }
  } finally {
    await stopAll(services.values());
    await Promise.all(members.map((member) => member.stop()));
    for (const { directory } of members) rmSync(directory, { recursive: true, force: true });
  }
});

test('two of every service: each step of a join is written once', async () => {
  await using hub = await startTestEmbeddedHub({ withServices: false });
  const services = await startServiceProcesses(hub.up, 2);
  try {
    const token = await hub.createToken({ uses: 10 });
    const names = Array.from({ length: 10 }, (_, index) => `twice-${index}`);
    await Promise.all(names.map((name) => hub.startAgent({ name, token: token.text })));
    for (const name of names) {
      await hub.untilReady(name);
      expect((await untilAllSteps(hub, name)).toSorted()).toEqual(steps);
    }
  } finally {
    await stopAll(services.values());
  }
});

const victims = [
  'registrar',
  'approver',
  'rbac-provisioner',
  'heartbeat',
  'projector',
  'account-controller',
  'nats-server',
] as const;

test('each service and nats-server killed in the middle of 20 joins: every cluster is Ready, no step is doubled', async () => {
  await using hub = await startTestEmbeddedHub({ withServices: false });
  const services = await startServiceProcesses(hub.up, 1);
  const revive = async (victim: (typeof victims)[number]): Promise<void> => {
    if (victim === 'nats-server') {
      await hub.up.natsServer()?.kill();
      await hub.up.restartNats();
      return;
    }
    await services.get(`${victim}-1`)?.kill();
    services.set(`${victim}-1`, await startServiceProcess(hub.up, victim, { replica: 1 }));
  };
  try {
    for (const victim of victims) {
      const token = await hub.createToken({ uses: 20 });
      const names = Array.from({ length: 20 }, (_, index) => `${victim}-${index}`);
      const joins = Promise.all(names.map((name) => hub.startAgent({ name, token: token.text })));
      await revive(victim);
      const agents = await joins;
      for (const name of names) {
        await hub.untilReady(name);
        const types = await untilAllSteps(hub, name);
        for (const once of steps) {
          expect(
            types.filter((type) => type === once),
            `${name}: ${once}`,
          ).toHaveLength(1);
        }
        const record = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
        expect(record.liveness?.state).toBe('ready');
      }
      await Promise.all(agents.map(({ agent }) => agent.stop()));
    }
  } finally {
    await stopAll(services.values());
  }
});
