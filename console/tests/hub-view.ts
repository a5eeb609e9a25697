import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { connectBus } from '@rollcall/shared/bus';
import { resources } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { temporaryUser } from '../../cli/backup/temporary-user.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { until } from '../../tests/harness/embedded.ts';
import { takeScreenshots } from './browser.ts';
import type { Stage } from './stage.ts';

/** More than the hub lets people put out within a minute without asking. */
const many = ['edge-11', 'edge-12', 'edge-13', 'edge-14', 'edge-15', 'edge-16', 'edge-17', 'edge-18'];

async function revokeAll({ fleet: { hub } }: Stage): Promise<void> {
  await Promise.all(
    many.map(async (name) => {
      const keyFingerprint = (await hub.cluster(name))?.status?.keyFingerprint;
      const operation = { id: randomUUID(), verb: 'Revoke', keyFingerprint, by: 'rollcall-admin' };
      await hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { operation } });
    }),
  );
}

const reasons = { 1: '<img src=x onerror=alert(1)> has no section', 2: 'the API server was away' };

/** Of the first two events, which the projector has handled in truth. */
async function leaveDeadLetters({ fleet: { hub } }: Stage): Promise<void> {
  const nc = await connectBus(hub.up.natsAddress, temporaryUser(hub.up.stateDir, hub.up.hub, 'mend'), 'mend');
  for await (const { sequence, kind, id, type } of hub.log.scan({})) {
    const letter = {
      service: 'projector',
      subject: `rollcall.events.${kind}.${id}.${type}`,
      sequence,
      code: 'EVENT_INVALID',
      message: reasons[sequence as keyof typeof reasons],
      deliveries: 5,
    };
    await nc.request(`rollcall.dead.projector.${sequence}`, JSON.stringify(letter));
    if (sequence === 2) break;
  }
  await nc.close();
}

async function deadLetters({ fleet: { hub } }: Stage): Promise<string> {
  const { stateDir, natsAddress } = hub.up;
  const [server = ''] = natsAddress.servers;
  const bus = ['--server', server, '--ca-file', join(stateDir, 'hub-ca.pem')];
  const { stdout } = await runCli([
    'dead',
    'list',
    '-o',
    'wide',
    ...bus,
    '--creds',
    join(stateDir, 'inspector.creds'),
  ]);
  return stdout;
}

export function testHubView(stage: () => Stage): void {
  test('the hub: what status and doctor say, a dead letter that is handled again and one that is deleted, and a bulk change that is confirmed', async () => {
    const { page, fleet, go, expectHeading, expectText, expectWellMade } = stage();
    await leaveDeadLetters(stage());
    await go('/hub');
    await expectText(/^Projector lag$/);
    await page.getByRole('row', { name: /^registrar 1 of 1/ }).waitFor();
    const letterOf = (reason: string) => page.getByRole('listitem').filter({ hasText: reason });
    const retried = letterOf(reasons[2]);
    await retried.getByRole('button', { name: /^Retry \d+$/ }).click();
    await expectText(/^rollcall dead retry \d+$/);
    await retried.getByRole('button', { name: /^Retry \d+$/ }).click();
    // The projector looks within a minute.
    await page.getByRole('button', { name: 'Look at everything' }).click();
    // It asks everything, each with its own patience.
    await page.getByText(/\d+ checks, /).waitFor({ timeout: 90_000 });
    await page.getByRole('button', { name: 'Show all checks' }).click();
    await expectText(/nats: connected to/);

    await expectText('EVENT_INVALID: <img src=x onerror=alert(1)> has no section');
    expect(await page.locator('main img').count()).toBe(0);
    await retried.getByText('handled: 1').waitFor({ timeout: 90_000 });
    await retried.getByRole('button', { name: 'Close' }).click();
    expect(await deadLetters(stage())).not.toContain(reasons[2]);
    expect(await deadLetters(stage())).toContain('EVENT_INVALID');
    await page.getByRole('button', { name: /^Delete \d+$/ }).click();
    await expectText(/The event itself stays in the history/);
    await expectText(/^rollcall dead drop \d+$/);
    await page.getByRole('button', { name: /^Delete \d+$/ }).click();
    await expectText('dropped: 1');
    await page.getByRole('button', { name: 'Close' }).click();
    await expectText('None: every service could handle every event.');
    expect(await deadLetters(stage())).not.toContain('EVENT_INVALID');

    await revokeAll(stage());
    await expectHeading(/operations? waits? for a person to confirm/);
    await page
      .getByRole('cell', { name: /^edge-1\d$/ })
      .first()
      .waitFor();
    await page.getByRole('columnheader', { name: 'Held' }).waitFor();
    await page.getByRole('link', { name: /^Hub \d$/ }).waitFor();
    const shown = await page.evaluate<string>('document.querySelector("main").innerText');
    expect(new Set(shown.match(/b-[0-9a-f]{10}/g))).toHaveProperty('size', 1);
    const rows = shown.match(/^edge-1\d\t.*$/gm) ?? [];
    expect(rows.map((row) => row.slice(0, 7))).toEqual(rows.map((row) => row.slice(0, 7)).toSorted());
    expect(shown).toMatch(new RegExp(`${rows.length} operations? that puts? .*(?:is|are) held`));
    await expectWellMade('hub');
    // The whole list, not one that still grows.
    const held = await until('what is held is all of it', async () => {
      const names = await page.getByRole('cell', { name: /^edge-1\d$/ }).allTextContents();
      const out = await Promise.all(
        many.map(async (name) =>
          JSON.stringify((await fleet.hub.cluster(name))?.status).includes('PersonRevoked'),
        ),
      );
      return names.length + out.filter(Boolean).length === many.length && names;
    });
    await page.getByRole('button', { name: 'Confirm…' }).click();
    await expectText(/^rollcall confirm b-[0-9a-f]{10}$/);
    await expectText(/are acted on at once, in your name/);
    await takeScreenshots(page, 'hub-confirm');
    await page.getByRole('button', { name: /^Confirm b-/ }).click();
    await expectText(/is confirmed, and the hub has acted on it: \d+ revoked/);
    for (const name of held)
      await until(`${name} is out`, async () =>
        (await fleet.hub.cluster(name))?.status?.conditions?.some(
          ({ type, status }) => type === 'Accepted' && status === 'False',
        ),
      );
    await page.getByRole('button', { name: 'Close' }).click();
    await expectText('None: no change that puts many out at once is held.');
  });
}
