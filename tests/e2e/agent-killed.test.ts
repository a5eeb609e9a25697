import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterRecord } from '@rollcall/shared/events';
import { kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { startCli } from '../../cli/tests/run-cli.ts';
import { conditionOf, startTestEmbeddedHub } from '../harness/embedded.ts';

test('kill -9 of an agent shows at once, as Unknown, and after the grace as False; a restart brings it back as it was [FL-7, X-4]', async () => {
  await using hub = await startTestEmbeddedHub();
  const directory = mkdtempSync(join(tmpdir(), 'rollcall-killed-'));
  const member = join(directory, 'member.kubeconfig');
  writeFileSync(member, kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
  const token = await hub.createToken();
  const [address = ''] = hub.up.addresses;
  const register = [
    'register',
    address,
    '--ca-cert-hash',
    hub.up.hub.caCertHash,
    '--member-kubeconfig',
    member,
  ];
  const who = [
    '--cluster-name',
    'mortal',
    '--client-id',
    'mortal',
    '--state-dir',
    join(directory, 'keys'),
    '--run',
  ];
  const run = (more: readonly string[]) => startCli([...register, ...who, ...more], { directory });
  try {
    const agent = run(['--token', token.text]);
    await agent.line(/\[ready\]/);
    await hub.untilReady('mortal');
    // So that the grace ends while the test looks.
    await hub.up.admin.mergePatch(resources.managedClusters, 'mortal', {
      spec: { heartbeat: { intervalSeconds: 2, graceSeconds: 6 } },
    });
    const before = clusterRecord(await hub.log.read({ kind: 'cluster', id: 'mortal' }));

    await using events = startCli(['events', '--follow', '--cluster', 'mortal'], {
      environment: { ROLLCALL_HOME: hub.up.stateDir },
    });
    await events.line(/cluster\.joined/);
    agent.child.kill('SIGKILL');
    await events.line(/live .*connection-lost/);
    await events.line(/cluster\.suspect/);
    const unknown = await hub.untilReady('mortal', 'Unknown');
    expect(conditionOf(unknown, 'Ready')?.reason).toMatch(/ConnectionLost|NoHeartbeats/);
    await events.line(/cluster\.unreachable/);
    const dead = await hub.untilReady('mortal', 'False');
    expect(conditionOf(dead, 'Ready')?.reason).toBe('Unreachable');
    expect(dead.status?.lastSeen).toMatch(/^\d{4}-/);

    await using back = run([]);
    await back.line(/\[ready\]/);
    const again = await hub.untilReady('mortal');
    expect(again.status?.lastSeen).toBe('live');
    const after = clusterRecord(await hub.log.read({ kind: 'cluster', id: 'mortal' }));
    expect(after.identity?.admittedKey).toBe(before.identity?.admittedKey);
    expect(after.lastOf.registrar?.sequence).toBe(before.lastOf.registrar?.sequence);
    expect(after.decision?.requestId).toBe(before.decision?.requestId);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
