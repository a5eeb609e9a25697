import { expect, test } from 'vitest';
import { until } from '../../tests/harness/embedded.ts';
import type { Stage } from './stage.ts';

/** How many requests these tests have the policy hold, beside the sites that wait from the start. */
export const heldBesides = 3;

export function testSeveralRequests(stage: () => Stage): void {
  test('several are denied with one reason, each by its own event; who asks again after that looks different', async () => {
    const { page, fleet, go, expectText, expectHeading, expectWellMade } = stage();
    const { hub } = fleet;
    const token = (await hub.createToken({ uses: 5 })).text;
    const names = ['site-31', 'site-32'];
    const resultOf = async (name: string) => (await hub.request(name))?.status?.result;
    const untilAll = (result: string) =>
      until(`all are ${result}`, async () => {
        const results = await Promise.all(names.map(resultOf));
        return results.every((one) => one === result);
      });
    const [first] = await Promise.all(names.map((name) => hub.startAgent({ name, token })));
    await untilAll('Held');
    await go('/requests');
    await expectHeading('3 clusters wait for a person.');
    for (const name of names) await page.getByLabel(`Pick ${name}`).check();
    await page.getByRole('button', { name: 'Deny them…' }).click();
    await page.getByLabel(/^Why, for all/).fill('not in the plan');
    await expectText("rollcall deny --id site-31 site-32 --reason 'not in the plan'");
    await expectWellMade('requests-several');
    await page.getByRole('button', { name: 'Deny 2 requests' }).click();
    const answers = page.getByRole('region', { name: 'Several requests' }).getByRole('listitem');
    await answers.getByText('site-32', { exact: true }).waitFor();
    expect((await answers.allTextContents()).map((text) => text.split(' ')[0])).toEqual(names);
    expect((await answers.allTextContents()).join()).not.toContain('not done');
    await untilAll('Denied');
    for (const name of names)
      expect((await hub.request(name))?.spec.decision).toMatchObject({
        verdict: 'Deny',
        by: 'alice',
        reason: 'not in the plan',
      });
    await page.getByRole('button', { name: 'Close' }).click();
    await expectHeading('1 cluster waits for a person.');

    await first?.agent.stop();
    await hub.startAgent({ name: 'site-31', token });
    await until('it is held anew', async () => (await resultOf('site-31')) === 'Held');
    const again = page.locator('#request-site-31');
    await again.getByText('denied before').waitFor();
    await again.getByText('Before: denied by alice: “not in the plan”').waitFor();
    expect(await page.getByText('denied before').count()).toBe(1);
    await expectWellMade('requests-denied-before');
    await page.getByRole('button', { name: 'Deny site-31…' }).click();
    await page.getByLabel(/^Why/).fill('still not');
    await page.getByRole('button', { name: 'Deny site-31', exact: true }).click();
    await expectText(/by alice: .*still not/);
    await page.getByRole('button', { name: 'Close' }).click();
    await expectHeading('1 cluster waits for a person.');
  });
}
