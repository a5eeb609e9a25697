import { resources } from '@rollcall/shared/kubernetes';
import { expect, test } from 'vitest';
import { until } from '../../tests/harness/embedded.ts';
import type { Stage } from './stage.ts';

const ofTokens = { resource: resources.clusterRegistrationTokens, namespace: 'rollcall-join' };

export function testTokensView(stage: () => Stage): void {
  test('a token: made in the browser, shown once, used by an agent, taken back; its secret is in no request', async () => {
    const { page, fleet, go, expectHeading, expectText, expectWellMade } = stage();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    await go('/tokens');
    await expectHeading(/lets? clusters ask to come in/);
    await page.getByRole('button', { name: 'New token…' }).click();
    await page.getByLabel(/^Clusters/).fill('2');
    await page.getByLabel(/^Name of the cluster/).fill('kiosk-*');
    await page.getByLabel(/^Set that it joins/).fill('shops');
    await page.getByLabel(/^Labels that it gets/).fill('region=eu-north');
    await page.getByLabel(/^What it is for/).fill('<b>the kiosks</b> of March');
    await page.getByLabel(/^Name of the token/).fill('kiosks');
    await expectText(
      "rollcall token create --name kiosks --uses 2 --ttl 24h --cluster-name 'kiosk-*' --cluster-set shops --labels region=eu-north --description '<b>the kiosks</b> of March'",
    );
    await expectWellMade('token-new');
    await page.getByRole('button', { name: 'Make the token' }).click();
    await expectText('It is shown this once.');
    await expectText(/an address that only its own machine reaches/);
    const text = (await page.getByLabel('Token', { exact: true }).textContent()) ?? '';
    expect(text).toMatch(/^rc1\.[0-9a-z]{16}\.[0-9a-z]{26}$/);
    const command = await page.getByLabel('Command', { exact: true }).textContent();
    expect(command).toMatch(new RegExp(`^ROLLCALL_TOKEN=${text} rollcall register .* \\\\\n  --run$`, 's'));
    expect(await page.getByLabel('Values file', { exact: true }).textContent()).toContain(`token: ${text}\n`);
    expect(
      await page
        .getByRole('img', { name: /^QR code/ })
        .locator('path')
        .getAttribute('d'),
    ).toMatch(/^M/);
    await expectWellMade('token-made');
    await page.getByRole('button', { name: 'I have saved it, close' }).click();
    const { agent } = await fleet.hub.startAgent({ name: 'kiosk-1', token: text });
    await fleet.hub.untilReady('kiosk-1');
    await expectText(/used 1 of 2/);
    await expectText(
      /Made (?:just now|.* ago) by alice\.\s+For kiosk-\*; into set shops; with labels region=eu-north/,
    );
    await expectWellMade('tokens');
    const [, hubId = '', secret = ''] = text.split('.');
    expect([sent.some((one) => one.includes(hubId)), sent.filter((one) => one.includes(secret))]).toEqual([
      false,
      [],
    ]);
    expect(sent.filter((one) => one.includes('"publicKey"'))).toHaveLength(1);
    expect(await page.content()).not.toContain(secret);

    await page.getByRole('button', { name: 'Revoke kiosks…' }).click();
    await expectText(/Nobody can ask to join with it any more \(used 1 of 2\)/);
    await expectText('rollcall token delete kiosks -n rollcall-join');
    await page.getByRole('button', { name: 'Revoke kiosks', exact: true }).click();
    await expectText('token rollcall-join/kiosks is deleted');
    await until('the token is gone', async () => {
      const { resource, namespace } = ofTokens;
      return (await fleet.hub.up.admin.get(resource, { name: 'kiosks', namespace })) === undefined;
    });
    await agent.stop();
  });

  test('a token that the hub does not take is refused in its words, and is not shown', async () => {
    const { page, go, expectText } = stage();
    await go('/tokens?make=new');
    await page.getByLabel(/^Set that it joins/).fill('nowhere');
    await page.getByRole('button', { name: 'Make the token' }).click();
    await expectText(/Refused \(TOKEN_REFUSED\)/);
    expect(await page.getByText('It is shown this once.').count()).toBe(0);
    await page.getByLabel(/^For/).fill('soon');
    await page.getByRole('button', { name: 'Make the token' }).click();
    await expectText(/--ttl "soon" is no duration/);
  });
}
