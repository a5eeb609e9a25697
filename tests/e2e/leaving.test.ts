import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AgentOptions,
  directoryKeyStore,
  forgetDirectory,
  type PhaseEvent,
  runAgent,
  type RunningAgent,
  secretKeyStore,
  uninstallFromMember,
} from '@rollcall/agent';
import { openFactStore } from '@rollcall/shared/bus';
import { clusterRecord, type StoredEvent } from '@rollcall/shared/events';
import { applyManifests, createKubeClient, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { renderManifest } from '../../cli/register/manifest.ts';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { everythingIn } from '../harness/everything.ts';

let hub: TestEmbeddedHub;
let plane: TestControlPlane;
let base: string;
const running: RunningAgent[] = [];
beforeAll(async () => {
  // One after the other: what was started is stopped also when the other does not start.
  plane = await startTestControlPlane({ withControllerManager: true, withManifests: false });
  // Each test puts somebody out: together they are a mass, which would have to be confirmed.
  hub = await startTestEmbeddedHub({ settings: { approver: { bulkPerMinute: '1000' } } });
  // Kubernetes' own controllers make their accounts when they start.
  const account = 'v1/serviceaccounts kube-system/generic-garbage-collector';
  for (const side of [hub.up.admin, plane.admin])
    await until('the controllers run', async () => (await everythingIn(side)).includes(account));
  base = mkdtempSync(join(tmpdir(), 'rollcall-leaving-'));
});
afterEach(async () => {
  await Promise.allSettled(running.splice(0).map((agent) => agent.stop()));
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

const aName = (stem: string) => `${stem}-${randomUUID().slice(0, 8)}`;
const hubFlags = () => ['--kubeconfig', hub.up.plane.adminKubeconfigPath];
const memberFlags = () => ['--member-kubeconfig', plane.plane.adminKubeconfigPath];

interface TestMember {
  readonly agent: RunningAgent;
  readonly phases: PhaseEvent[];
  readonly directory: string;
}

async function run(options: Partial<AgentOptions> & Pick<AgentOptions, 'store'>): Promise<TestMember> {
  const phases: PhaseEvent[] = [];
  const agent = await runAgent({
    hub: hub.up.addresses,
    trust: { pins: [hub.up.hub.caCertHash] },
    member: plane.plane.access,
    version: rollcallVersion,
    onPhase: (phase) => phases.push(phase),
    ...options,
  });
  running.push(agent);
  return { agent, phases, directory: '' };
}

/** An agent in the foreground, of a cluster that is told apart by its client id. */
async function inForeground(
  name: string,
  options: Partial<AgentOptions> & { directory?: string } = {},
): Promise<TestMember> {
  const { directory = mkdtempSync(join(base, 'agent-')), ...more } = options;
  const token =
    more.token ?? (existsSync(join(directory, 'agent-state')) ? undefined : (await hub.createToken()).text);
  const store = directoryKeyStore(directory);
  const own = { store, clusterName: name, clientId: name, uninstall: forgetDirectory(directory) };
  return { ...(await run({ ...own, ...more, token })), directory };
}

/** The member's own ServiceAccount, with the rights that deploy/agent gives it and no others. */
function asAgent(): KubeClient {
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:rollcall-agent', 'system:authenticated'];
  const access = plane.plane.userAccess('system:serviceaccount:rollcall-agent:rollcall-agent', groups);
  return createKubeClient(access, { fieldManager: 'rollcall-agent', userAgent: 'rollcall-test' });
}

/** Everything that `rollcall register --manifest` prints, and the agent that the Deployment would start. */
async function installed(name: string): Promise<TestMember> {
  const { text: token } = await hub.createToken();
  const trust = { pins: [hub.up.hub.caCertHash] };
  const values = { hub: hub.up.addresses, trust, token, image: 'rollcall:test', clusterName: name };
  await applyManifests(plane.admin, [renderManifest(values)]);
  const client = asAgent();
  // RBAC is heard of a little later; a pod would be started again.
  await until('the agent may read its Secret', async () => {
    const { status } = await client.raw('/api/v1/namespaces/rollcall-agent/secrets/rollcall-agent');
    return status === 404;
  });
  const store = secretKeyStore(client, { namespace: 'rollcall-agent' });
  const uninstall = uninstallFromMember(client);
  const member = await run({ store, token, member: client.access, clusterName: name, uninstall });
  await hub.untilReady(name);
  return member;
}

async function recordOf(name: string) {
  return clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
}
async function historyOf(clusterId: string): Promise<StoredEvent[]> {
  return (await hub.log.readAll(`cluster.${clusterId}.*`)).toSorted((a, b) => a.sequence - b.sequence);
}
const untilGone = (name: string) =>
  until(`cluster ${name} is gone`, async () => (await hub.cluster(name)) === undefined);
const untilLeft = (name: string) =>
  until(`cluster ${name} has left`, async () => (await recordOf(name)).identity?.state === 'left');

/** What an agent went through says why it is still there. */
async function untilEnded({ agent, phases }: TestMember): Promise<void> {
  const ended = agent.left().then(() => true as const);
  const notYet = () => delay(50, false as const);
  await until('the agent ends', () => Promise.race([ended, notYet()])).catch((cause: unknown) => {
    throw new Error(phases.map(({ phase, message }) => `[${phase}] ${message}`).join('\n'), { cause });
  });
}

/** Tells what is there before, and afterwards that it is the same again, once Kubernetes is done with its own part. */
async function unchangedAfter(work: () => Promise<void>, sides: readonly KubeClient[]): Promise<void> {
  const before = await Promise.all(sides.map(everythingIn));
  await work();
  let left: string[][] = [];
  const differs = async () => {
    const after = await Promise.all(sides.map(everythingIn));
    left = after.map((objects, at) => objects.filter((one) => !before[at]?.includes(one)));
    const missing = before.flatMap((objects, at) => objects.filter((one) => !after[at]?.includes(one)));
    return [...left.flat(), ...missing];
  };
  await until('everything is as before', async () => (await differs()).length === 0).catch(() => undefined);
  expect(await differs()).toEqual([]);
}

const memberId = async () => {
  const namespace = await plane.admin.get(resources.namespaces, { name: 'kube-system' });
  return namespace?.metadata.uid ?? '';
};

test('unregister: nothing is left on either side [KA-6, X-8]', async () => {
  const name = aName('installed');
  await unchangedAfter(async () => {
    const { agent } = await installed(name);
    expect(
      (await everythingIn(plane.admin)).filter((one) => one.includes('rollcall-agent')).length,
    ).toBeGreaterThan(6);
    const { code, stdout, stderr } = await runCli(['unregister', name, '--wait', ...hubFlags()]);
    expect(`${code} ${stdout}\n${code === 0 ? '' : stderr}`).toBe(`0 cluster "${name}" has left the hub\n\n`);
    expect(stderr).toContain('[namespace]');
    await agent.left();
    const types = (await historyOf(await memberId())).map(({ type }) => type);
    for (const type of ['revoked', 'deprovisioned', 'cleaned', 'left']) {
      expect(types.lastIndexOf(type)).toBeGreaterThan(types.lastIndexOf('leaving'));
    }
    expect(types.at(-1) === 'left' || types.at(-1) === 'cut').toBe(true);
    expect((await recordOf(await memberId())).decision?.by).toEqual({ person: 'rollcall-admin' });
    const ops = await connectAsInspector(hub.up.stateDir, hub.up.natsAddress);
    const facts = openFactStore(ops);
    const id = await memberId();
    await until('its facts are forgotten', async () => (await facts.get(id)) === undefined);
    await ops.close();
    // The token was the test's own.
    for (const { metadata } of await hub.up.admin.list(resources.clusterRegistrationTokens))
      await hub.up.admin.delete(resources.clusterRegistrationTokens, metadata.name, {
        namespace: metadata.namespace,
      });
  }, [hub.up.admin, plane.admin]);
});

test('agent leave: the member goes by itself', async () => {
  const name = aName('leaves');
  await unchangedAfter(async () => {
    const { agent } = await installed(name);
    const { code, stdout, stderr } = await runCli(['agent', 'leave', ...memberFlags()]);
    expect(`${stdout}${code === 0 ? '' : stderr}`).toBe(`cluster "${name}" has left the hub\n`);
    await agent.left();
    await untilGone(name);
    for (const { metadata } of await hub.up.admin.list(resources.clusterRegistrationTokens))
      await hub.up.admin.delete(resources.clusterRegistrationTokens, metadata.name, {
        namespace: metadata.namespace,
      });
  }, [hub.up.admin, plane.admin]);
});

test(
  'kubectl delete: the agent forgets its keys; the name is free, and the old keys stay out [KA-6]',
  { timeout: 120_000 },
  async () => {
    const name = aName('deleted');
    const first = await inForeground(name);
    await hub.untilReady(name);
    const old = mkdtempSync(join(base, 'old-'));
    // Not what is just being written beside it.
    cpSync(join(first.directory, 'agent-state'), join(old, 'agent-state'));
    const { code } = await hub.kubectl('rollcall-admin', 'version');
    expect(code).toBe(0);
    await hub.up.admin.delete(resources.managedClusters, name);
    await untilEnded(first);
    expect(existsSync(first.directory)).toBe(false);
    await untilGone(name);
    const second = await inForeground(name);
    await hub.untilReady(name);
    // Whoever kept the old keys is refused, with a good token too, and a new registration of the cluster is untouched by it.
    for (const token of [undefined, (await hub.createToken()).text]) {
      const copy = mkdtempSync(join(base, 'copy-'));
      cpSync(old, copy, { recursive: true });
      const again = await inForeground(name, { directory: copy, ...(token === undefined ? {} : { token }) });
      await untilEnded(again);
      expect(again.phases.some(({ phase }) => phase === 'ready')).toBe(false);
      expect(existsSync(copy)).toBe(false);
    }
    expect((await recordOf(name)).identity?.state).toBe('admitted');
    expect(second.phases.some(({ phase }) => phase === 'leave')).toBe(false);
  },
);

test(
  'a member that is away is not waited for, and hears of it when it comes back',
  { timeout: 120_000 },
  async () => {
    const name = aName('away');
    const { agent, directory } = await inForeground(name);
    await hub.untilReady(name);
    await agent.stop();
    await hub.untilReady(name, 'False');
    await hub.up.admin.delete(resources.managedClusters, name);
    await untilGone(name);
    expect((await recordOf(name)).decision?.leaveUntilMs).toBeUndefined();
    const back = await inForeground(name, { directory });
    await untilEnded(back);
    expect(existsSync(directory)).toBe(false);
  },
);

test(
  'an agent that hangs is waited for visibly, and --force waits no longer [X-8]',
  { timeout: 120_000 },
  async () => {
    const name = aName('hangs');
    const hanging = new Promise<void>(() => undefined);
    await inForeground(name, {
      uninstall: { what: 'nothing', beforeGoodbye: () => hanging, afterGoodbye: () => Promise.resolve() },
    });
    await hub.untilReady(name);
    await using waiting = startCli(['unregister', name, ...hubFlags()]);
    expect(await waiting.line(/WaitingForAgent/)).toMatch(/has until \d{4}-\d\d-\d\dT/);
    expect(conditionOf(await hub.cluster(name), 'Deleting')?.reason).toBe('WaitingForAgent');
    const forced = await runCli(['unregister', name, '--force', ...hubFlags()]);
    expect(forced.code, forced.stderr).toBe(0);
    expect((await waiting.result).code).toBe(0);
    const { identity, decision } = await recordOf(name);
    expect([identity?.state, identity?.leave?.cleanedAtMs, decision?.forced]).toEqual([
      'left',
      undefined,
      true,
    ]);
  },
);

test('two leave at once', async () => {
  const names = [aName('one'), aName('two')];
  const agents = await Promise.all(names.map((name) => inForeground(name)));
  await Promise.all(names.map((name) => hub.untilReady(name)));
  const results = await Promise.all(names.map((name) => runCli(['unregister', name, ...hubFlags()])));
  expect(results.map(({ code }) => code)).toEqual([0, 0]);
  await Promise.all(agents.map(untilEnded));
});

test(
  'a cluster leaves while another key waits for it: that key asks anew',
  { timeout: 120_000 },
  async () => {
    const name = aName('contested');
    const owner = await inForeground(name);
    await hub.untilReady(name);
    const other = await inForeground(name);
    await until('the other key is held', async () => {
      const { identity, decision } = await recordOf(name);
      return decision?.verdict === 'held' && identity?.admittedKey !== identity?.request.key;
    });
    await hub.up.admin.delete(resources.managedClusters, name);
    await untilEnded(owner);
    await untilLeft(name);
    expect(other.phases.some(({ phase }) => phase === 'leave' || phase === 'ready')).toBe(false);
  },
);

test(
  'with a kubeconfig the member is cleaned without its agent; the wrong member is refused',
  { timeout: 120_000 },
  async () => {
    const [name, other] = [aName('dead'), aName('other')];
    await inForeground(other);
    await hub.untilReady(other);
    await unchangedAfter(async () => {
      const { agent } = await installed(name);
      await agent.stop();
      await hub.untilReady(name, 'False');
      const wrong = await runCli(['unregister', other, ...hubFlags(), ...memberFlags()]);
      expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining('MEMBER_OTHER')]);
      expect((await hub.cluster(other))?.metadata).not.toHaveProperty('deletionTimestamp');
      const unknown = await runCli(['unregister', 'nobody', ...hubFlags()]);
      expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('NOT_FOUND')]);
      const dry = await runCli(['unregister', name, '--dry-run', ...hubFlags(), ...memberFlags()]);
      expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('would be deleted')]);
      const { code, stderr } = await runCli(['unjoin', name, ...hubFlags(), ...memberFlags()]);
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining('[member] Namespace rollcall-agent deleted'),
      ]);
    }, [plane.admin]);
  },
);
