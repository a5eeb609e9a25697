import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { type BusCredentials, connectBus } from '@rollcall/shared/bus';
import { expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** As an approver of a newer version would say it, which ran here before the hub went back to this one. */
async function speakAsNewerApprover(hub: TestEmbeddedHub, clusterId: string): Promise<void> {
  const identity = readFileSync(join(hub.up.stateDir, 'identities', 'approver.json'), 'utf8');
  const { bus } = JSON.parse(identity) as { bus: BusCredentials };
  const nc = await connectBus(hub.up.natsAddress, bus, 'approver');
  const meta = headers();
  meta.set('ce-type', 'dev.rollcall.cluster.approved.v2');
  meta.set('ce-source', '/rollcall/approver');
  const subject = `rollcall.events.cluster.${clusterId}.approved`;
  await jetstream(nc).publish(subject, JSON.stringify({ epoch: 1, section: {} }), { headers: meta });
  await nc.close();
}

test('what a newer version has written is held and told, and everything else goes on', async () => {
  await using hub = await startTestEmbeddedHub();
  copyFileSync(hub.up.plane.adminKubeconfigPath, join(hub.up.stateDir, 'kubeconfig'));
  const rollcall = (...args: string[]) => runCli(args, { environment: { ROLLCALL_HOME: hub.up.stateDir } });
  const { text: token } = await hub.createToken({ uses: 'unlimited' });
  await hub.startAgent({ name: 'before', token });
  await hub.untilReady('before');
  await speakAsNewerApprover(hub, 'before');

  // Each service that is woken by it puts it aside for itself.
  const holders = ['approver', 'projector', 'rbac-provisioner', 'registrar', 'account-controller'];
  const status = await until(
    'every service holds it, and the approver has seen the admission policies',
    async () => {
      const { stdout } = await rollcall('status', '-o', 'json');
      const shown = JSON.parse(stdout) as {
        heldEvents?: object;
        deadLetters?: number;
        admission?: string;
        problems: readonly object[];
      };
      const areHeld = holders.every((name) => name in (shown.heldEvents ?? {}));
      return areHeld && shown.admission === 'in place' && shown;
    },
  );
  expect(status.heldEvents).toEqual(Object.fromEntries(holders.map((name) => [name, 1])));
  expect(status.deadLetters).toBe(0);
  expect(status.problems).toEqual([
    {
      text: 'events are held for a newer version (1 of account-controller, 1 of approver, 1 of projector, 1 of rbac-provisioner, 1 of registrar)',
      next: 'Upgrade the hub (docs/upgrading.md).',
      severity: 'wrong',
    },
  ]);
  const { code, stdout } = await rollcall('status');
  expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('Held events: ') });
  expect((await rollcall('doctor')).stdout).toMatch(/held-events.*1 of registrar/s);
  const list = (await rollcall('dead', 'list', '-o', 'wide')).stdout.trimEnd().split('\n').slice(1);
  expect(list).toHaveLength(holders.length);
  for (const line of list)
    expect(line).toMatch(/ cluster\.before\.approved +held +EVENT_VERSION_UNKNOWN .*cluster\.approved\.v2/);

  expect(hub.up.services.map(({ name, notReady }) => [name, notReady()])).toEqual(
    hub.up.services.map(({ name }) => [name, undefined]),
  );
  await hub.startAgent({ name: 'after', token });
  await hub.untilReady('after');
  expect(conditionOf(await hub.cluster('before'), 'Ready')?.status).toBe('True');
});
