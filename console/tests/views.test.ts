import { resources } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy } from '@rollcall/shared/resources';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../tests/harness/embedded.ts';
import { testActions } from './actions-view.ts';
import { chromiumPath, openBrowser, type Person, takeScreenshots } from './browser.ts';
import { startConsoleOf } from './console-on-hub.ts';
import { memberCount, newSites, type SmallFleet } from './fleet-on-hub.ts';
import { testHubView } from './hub-view.ts';
import { heldBesides, testSeveralRequests } from './requests-view.ts';
import { type Stage, setStage } from './stage.ts';
import { testTokensView } from './tokens-view.ts';
import { testWallScreen } from './wall-screen-view.ts';

/** Without a browser nothing here is run, and nothing counts as passed: set-up says how to get one. */
describe.skipIf(chromiumPath === undefined)('in a browser, on a hub', () => {
  let stage: Stage;
  let fleet: SmallFleet;
  let alice: Person;
  let go: Stage['go'];
  let expectText: Stage['expectText'];
  let expectHeading: Stage['expectHeading'];
  let expectWellMade: Stage['expectWellMade'];
  /** When all members were well. */
  let wellAtMs: number;

  beforeAll(async () => {
    stage = await setStage();
    ({ fleet, alice, go, expectText, expectHeading, expectWellMade } = stage);
  });
  afterAll(() => stage?.[Symbol.asyncDispose]());

  test('the fleet: a sentence, the wall, the table, and a filter that a reload keeps', async () => {
    await expectHeading(`All ${memberCount} members are well.`);
    await alice.page.getByRole('img', { name: /39 clusters, one cell each.*edge: 18 of 18 Ready/ }).waitFor();
    await expectWellMade('fleet');
    await alice.page.getByLabel('Filter clusters').fill('set:dc 04');
    await alice.page.reload();
    await alice.page.getByRole('link', { name: 'dc-04' }).waitFor();
    expect(await alice.page.getByRole('link', { name: 'dc-05' }).count()).toBe(0);
    await go('/?by=label region');
    await alice.page.getByRole('img', { name: /eu-west: 18 of 18 Ready/ }).waitFor();
    await go('/?by=server');
    await alice.page
      .getByRole('img', { name: /one cell each\. hub: 36 of 36 Ready; server not known/ })
      .waitFor();
    await go('/?by=version');
    await alice.page.getByRole('img', { name: /one cell each\. [^;]*: 36 of 39 Ready/ }).waitFor();
    await alice.page
      .getByRole('img', { name: /^Clusters that are Unknown or not Ready, over time/ })
      .waitFor();
  });

  testWallScreen(() => stage);

  test('an agent that ends is seen, with what the hub says of it', async () => {
    await go('/');
    wellAtMs = Date.now();
    await fleet.agents.get('shops-07')?.agent.stop();
    await expectHeading(/shops-07 is not Ready: the agent said goodbye/);
    await takeScreenshots(alice.page, 'fleet-one-stopped');
  });

  test('a handle takes wall, table and cluster back to a moment, and one button back to now [X-11]', async () => {
    const { page } = alice;
    const before = `${new Date(wellAtMs).toISOString().slice(0, 19)}Z`;
    const handle = page.getByRole('slider', { name: 'The moment that is shown' });
    await go('/');
    await expectHeading(/shops-07 is not Ready/);
    await handle.press('Home');
    await expectHeading(/: No cluster has joined yet/);
    expect(new URL(page.url()).searchParams.get('at')).toMatch(/^2.*Z$/);
    await go(`/?q=set:shops&at=${before}`);
    await expectHeading(new RegExp(`: All ${memberCount} members are well`));
    await expectText('Policies in force: default, sites.');
    await expectText(
      /36 of 39 clusters\s+are Ready in the whole fleet\.\s+Of 12 clusters that the filter shows 12 are\./,
    );
    await expectText('Waiting for a person');
    expect(await page.getByRole('columnheader').allTextContents()).not.toContain('Kubernetes');
    expect(await page.getByRole('navigation').locator('b.wait').count()).toBe(0);
    await page.getByRole('img', { name: /shops: 12 of 12 Ready/ }).waitFor();
    await expectWellMade('past');
    await page.reload();
    await page.getByRole('region', { name: 'Clusters' }).getByRole('link', { name: 'shops-07' }).click();
    await expectHeading(/: shops-07 is Ready/);
    await expectText('Nothing: it is shown as it was.');
    expect(await page.getByRole('button', { name: /…$/ }).count()).toBe(0);
    await expectWellMade('past-cluster');
    await page.getByRole('button', { name: 'Back to now' }).click();
    await expectHeading(/shops-07 was stopped/);
    await page.getByRole('button', { name: 'Deny…' }).waitFor();
  });

  test('a cluster: its story, who let it in, and each event as it is', async () => {
    await go('/clusters/edge-03');
    await expectHeading(/edge-03 is Ready, since/);
    await expectText('by policy default/valid-token');
    await alice.page
      .getByText(/^event \d+$/)
      .first()
      .click();
    await expectText(/"specversion": "1\.0"/);
    await alice.page
      .getByText(/^event \d+$/)
      .first()
      .click();
    await expectWellMade('cluster');
  });

  test('the inbox by keyboard: one is let in, the next denied, and the events that answer name the person', async () => {
    await go('/requests');
    await expectHeading('3 clusters wait for a person.');
    await expectText('Waits because rule ask-a-person of policy sites asks for a person (NewSite).');
    await alice.page.keyboard.press('?');
    await expectText('approve: says what will happen');
    await alice.page.keyboard.press('?');
    const selected = () => new URL(alice.page.url()).searchParams.get('request');
    await alice.page.keyboard.press('j');
    const second = selected();
    await alice.page.keyboard.press('k');
    expect(selected()).not.toBe(second);
    await expectText(/the token rollcall-join\/[\w-]+ \(made by [\w-]+, 3 of 10 uses taken\)/);
    expect(await alice.page.getByRole('button', { name: /^(Approve|Deny) site-\d+…$/ }).count()).toBe(6);
    await alice.page.keyboard.press('a');
    await expectText(/site-\d+ gets credentials and becomes Ready with its first heartbeat\./);
    expect(await alice.page.getByRole('button', { name: /^(Approve|Deny) site-\d+…$/ }).count()).toBe(4);
    await alice.page.getByLabel(/^Why/).fill('known since Monday');
    const pinned = new URL(alice.page.url()).searchParams.get('request') ?? 'none';
    await expectText(`rollcall approve --id ${pinned} --reason 'known since Monday'`);
    await expectWellMade('requests');
    await alice.page.getByLabel(/^Why/).press('Enter');
    await expectText(/by alice: alice approves: known since Monday/);
    await alice.page.keyboard.press('Escape');
    await expectHeading('2 clusters wait for a person.');
    await alice.page.keyboard.press('j');
    await alice.page.keyboard.press('d');
    await alice.page.getByLabel(/^Why/).fill('<img src=x onerror=alert(1)> is not ours');
    await alice.page.getByRole('button', { name: /^Deny site-\d+$/ }).click();
    await expectText(/by alice: alice denies: <img src=x onerror=alert\(1\)> is not ours/);
    expect(await alice.page.locator('img').count()).toBe(0);
    await alice.page.keyboard.press('Escape');
    await expectHeading('1 cluster waits for a person.');
    await alice.page.getByLabel(/^Pick site-/).check();
    await alice.page.getByRole('button', { name: 'Deny them…' }).click();
    await alice.page.getByLabel(/^Why, for all/).fill('none of ours either');
    await expectText(/^rollcall deny --id site-\d+ --reason 'none of ours either'$/);
    await alice.page.getByRole('button', { name: 'Pick none' }).click();
    const results = await Promise.all(
      newSites.map(async (name) => (await fleet.hub.request(name))?.status?.result),
    );
    expect(results.toSorted()).toEqual(['Approved', 'Denied', 'Held']);
    expect(alice.complaints).toEqual([]);
  });

  testSeveralRequests(() => stage);

  test('events: by type and person, and paused while more come', async () => {
    const listed = (text: string) => alice.page.locator('ol').getByText(text, { exact: true }).first();
    await go('/events?q=person:alice');
    await listed('Denied').waitFor();
    expect(await alice.page.locator('ol').getByText('Joined', { exact: true }).count()).toBe(0);
    await go('/events');
    await listed('Joined').waitFor();
    await expectWellMade('events');
    await alice.page.getByRole('button', { name: 'Pause' }).click();
    await fleet.agents.get('shops-08')?.agent.stop();
    await expectText(/events? came since; nothing moves/);
    await alice.page.getByRole('button', { name: 'Go on' }).click();
    await alice.page.getByRole('link', { name: 'shops-08' }).first().waitFor();
    const moment = new Date(wellAtMs).toISOString().slice(0, 19);
    await alice.page.getByLabel('from', { exact: true }).fill(moment);
    await alice.page.getByLabel('from', { exact: true }).press('Enter');
    await expectHeading(/^What happened from /);
    await expectText('The oldest first, from the history.');
    const first = alice.page.locator('ol li').first();
    await first.waitFor();
    expect(Date.parse((await first.locator('time').getAttribute('datetime')) ?? '')).toBeGreaterThanOrEqual(
      Date.parse(`${moment}Z`),
    );
    expect(new URL(alice.page.url()).searchParams.get('from')).toBe(`${moment}Z`);
    await expectWellMade('events-from');
    await alice.page.getByRole('link', { name: 'Back to what comes now' }).click();
    await expectHeading(/as it happens/);
  });

  test('cordon, uncordon, move and rotate: said before, and there until the hub has noted it', async () => {
    await go('/clusters/dc-02');
    await alice.page.getByRole('button', { name: 'Cordon…' }).click();
    await expectText('other tools place nothing new there');
    await expectText(/^rollcall cordon dc-02$/);
    await alice.page.getByRole('button', { name: 'Cordon dc-02' }).click();
    await expectText(/Cordoned by alice/);
    await alice.page.getByRole('button', { name: 'Close' }).click();
    await alice.page.getByRole('button', { name: 'Uncordon…' }).click();
    await alice.page.getByRole('button', { name: 'Uncordon dc-02' }).click();
    await expectText(/Uncordoned by alice/);
    await alice.page.getByRole('button', { name: 'Close' }).click();
    await alice.page.getByRole('button', { name: 'Move…', exact: true }).click();
    await alice.page.getByLabel('To which set').fill('edge');
    await expectText(/^rollcall move dc-02 --to edge$/);
    await alice.page.getByRole('button', { name: 'Move dc-02' }).click();
    await expectText(/Changed by alice/);
    await alice.page.getByRole('button', { name: 'Close' }).click();
    await alice.page.getByRole('button', { name: 'Rotate the key…' }).click();
    await alice.page.getByRole('button', { name: 'Rotate the key dc-02' }).click();
    await expectText(/the agent of cluster "dc-02" has a new key|^Rotated/);
  });

  test('a policy: a mistake at its column, tried on the past, written once it is known what it does [X-12]', async () => {
    const { page } = alice;
    const editor = page.getByLabel('Policy sites as YAML');
    const write = async () => {
      await page.getByRole('button', { name: 'Put it in force…' }).click();
      await page.getByRole('button', { name: 'Put it in force', exact: true }).click();
    };
    await go('/policies/sites');
    await expectHeading(/policies say who comes in without a person/);
    await expectText('Syntax and names are right.');
    await expectText('In force as it stands here.');
    const text = await editor.inputValue();
    const line = text.split('clusterName')[0]?.split('\n').length;
    await editor.fill(text.replace('clusterName', 'clusterNme'));
    await page.getByRole('button', { name: new RegExp(`^${line}:\\d+$`) }).waitFor();
    await expectText(/error: rule "ask-a-person": .*clusterNme/);
    expect(await page.getByRole('button', { name: 'Try it' }).isDisabled()).toBe(true);
    await takeScreenshots(page, 'policy-mistake');
    await editor.fill(text.replace('Hold', 'Approve'));
    await page.getByText('Draft, not in force: 1 line changed.').waitFor();
    await page.getByRole('button', { name: 'Back to what is written' }).click();
    expect(await editor.inputValue()).toBe(text);
    await editor.fill(text.replace('Hold', 'Approve'));
    await page.getByRole('button', { name: 'Try it' }).click();
    const trial = page.getByRole('region', { name: 'Had it been in force' });
    await trial.waitFor({ timeout: 90_000 });
    const held = newSites.length + heldBesides;
    expect(await trial.textContent()).toMatch(
      new RegExp(
        `would let \\d more clusters in without a person\\..*of \\d+ requests\\s+since .*decided\\s+differently:.*held → approved ${held}.*Nothing was written\\.`,
        's',
      ),
    );
    await expectWellMade('policies');
    const sites = (): Promise<ApprovalPolicy | undefined> =>
      fleet.hub.up.admin.get(resources.approvalPolicies, { name: 'sites' });
    const rules = (await sites())?.spec?.rules.map((rule) => ({ ...rule, reason: 'Faster' }));
    await fleet.hub.up.admin.mergePatch(resources.approvalPolicies, 'sites', { spec: { rules } });
    await expectText(/Somebody else wrote this policy meanwhile/);
    await write();
    await expectText(/somebody else wrote policy "sites" since you began/);
    expect((await sites())?.spec?.rules).toMatchObject([{ effect: 'Hold', reason: 'Faster' }]);
    await page.reload();
    await editor.fill((await editor.inputValue()).replace('Hold', 'Approve'));
    await write();
    await expectText('policy "sites" is written');
    expect((await sites())?.spec?.rules).toMatchObject([{ effect: 'Approve', reason: 'Faster' }]);
    await until('what was held is let in', async () => {
      const found = await Promise.all(newSites.map((name) => fleet.hub.request(name)));
      return found.filter((request) => request?.status?.result === 'Approved').length === 2;
    });
  });

  testActions(() => stage);
  testTokensView(() => stage);
  testHubView(() => stage);

  test('a person without the right sees the refusal of the API server, and nothing has changed [X-12]', async () => {
    await using console = await startConsoleOf(fleet.hub, 'bob');
    await using bob = await openBrowser(console.link);
    await expectHeading(/not Ready/, bob);
    await bob.page.goto(new URL('/clusters/edge-01', console.link).href);
    await bob.page.getByRole('button', { name: 'Deny…' }).click();
    await bob.page.getByRole('button', { name: 'Deny edge-01' }).click();
    const refusal = bob.page.getByRole('alert').filter({ hasText: 'Refused' });
    await refusal.waitFor();
    expect(await refusal.textContent()).toMatch(/User "bob" cannot patch resource|needs verb create/);
    await takeScreenshots(bob.page, 'refused');
    expect(await fleet.hub.request('edge-01')).not.toHaveProperty('spec.decision');
    await bob.page.goto(new URL('/policies/sites', console.link).href);
    const editor = bob.page.getByLabel('Policy sites as YAML');
    await editor.fill((await editor.inputValue()).replace('ask-a-person', 'as-bob-likes'));
    await bob.page.getByRole('button', { name: 'Put it in force…' }).click();
    await bob.page.getByRole('button', { name: 'Put it in force', exact: true }).click();
    await expectText(/User "bob" cannot update resource "approvalpolicies"/, bob);
  });

  test('a hub that goes away is said to be away, what was seen stays, and the page goes on with it', async () => {
    // Its API server is that of the members as well: many of them may be called down meanwhile, so one is looked for.
    await go('/?q=dc-04');
    await expectHeading(/not Ready/);
    await fleet.hub.up.plane.kill('kube-apiserver');
    await expectText('The API server of the hub is not heard');
    await alice.page.getByRole('region', { name: 'Clusters' }).getByRole('link', { name: 'dc-04' }).waitFor();
    await takeScreenshots(alice.page, 'hub-away');
    await fleet.hub.up.plane.restart('kube-apiserver');
    await until(
      'nothing is wrong any more',
      async () => (await alice.page.getByText('is not heard').count()) === 0,
    );
    const last = fleet.agents.get('shops-09');
    const phasesBefore = last?.phases.length ?? 0;
    await fleet.hub.up.natsServer()?.kill();
    await expectText('The history of the hub is not heard');
    await alice.page
      .getByRole('region', { name: 'Clusters' })
      .getByRole('link', { name: 'dc-04' })
      .first()
      .waitFor();
    await fleet.hub.up.restartNats();
    await until(
      'the history is heard',
      async () => (await alice.page.getByText('is not heard').count()) === 0,
    );
    // An agent says goodbye over the connection that it has.
    await until('the agent is connected again', async () =>
      last?.phases
        .slice(phasesBefore)
        .some(({ phase, message }) => phase === 'connect' && message.startsWith('connected')),
    );
    await last?.agent.stop();
    await go('/?q=shops-09');
    await expectText('the agent said goodbye (AgentStopped)');
  });
});
