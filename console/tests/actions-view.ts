import { expect, test } from 'vitest';
import { until } from '../../tests/harness/embedded.ts';
import type { Stage } from './stage.ts';

interface Doing {
  /** As the button says it, without its dots. */
  readonly label: string;
  readonly will: RegExp;
  readonly line: RegExp;
  readonly reason?: string;
  readonly answer: RegExp;
}

async function doIt({ page, expectText }: Stage, name: string, doing: Doing): Promise<void> {
  await page.getByRole('button', { name: `${doing.label}…`, exact: true }).click();
  await expectText(doing.will);
  if (doing.reason !== undefined) await page.getByLabel(/^Why/).fill(doing.reason);
  await expectText(doing.line);
  await page.getByRole('button', { name: `${doing.label} ${name}` }).click();
  await page.locator('form').getByText(doing.answer).first().waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
}

export function testActions(stage: () => Stage): void {
  test('revoke, ban, take the ban back and remove: each said before, with its line, until the event that answers', async () => {
    const { page, go, fleet } = stage();
    await go('/clusters/edge-05');
    const hard = page.locator('.hard').getByRole('listitem');
    await hard.first().waitFor();
    expect((await hard.allTextContents()).map((text) => text.replace(/….*/s, ''))).toEqual([
      'Deny',
      'Revoke the key',
      'Ban',
      'Remove',
    ]);
    expect(await hard.first().textContent()).toMatch(/It is in: .* Approve gives it back\./);
    await doIt(stage(), 'edge-05', {
      label: 'Revoke the key',
      will: /its connection is cut\. Its agent may ask again with another key/,
      reason: 'lost laptop',
      line: /^rollcall revoke edge-05 --reason 'lost laptop'$/,
      answer: /Revoked by alice/,
    });
    await doIt(stage(), 'edge-05', {
      label: 'Ban',
      will: /out, whatever key it asks with/,
      reason: 'stolen',
      line: /^rollcall ban edge-05 --reason stolen$/,
      answer: /Banned by alice/,
    });
    await doIt(stage(), 'edge-05', {
      label: 'Take the ban back',
      will: /may ask again\. That does not let it in yet/,
      reason: 'found',
      line: /^rollcall unban edge-05 --reason found$/,
      answer: /Unbanned by alice/,
    });
    await go('/clusters/edge-06');
    await doIt(stage(), 'edge-06', {
      label: 'Remove',
      will: /its agent is told and removes itself/,
      line: /^rollcall unregister edge-06$/,
      answer: /Leav|Left/,
    });
    const gone = await until('it is gone', async () => (await fleet.hub.cluster('edge-06')) === undefined);
    expect(gone).toBe(true);
  });

  test('a known id under another key looks different, is compared, and replaces the key only where that is what was seen', async () => {
    const { page, fleet, go, expectText, expectWellMade } = stage();
    const token = (await fleet.hub.createToken()).text;
    await fleet.hub.startAgent({ name: 'edge-07', token });
    await until('it is held', async () => (await fleet.hub.request('edge-07'))?.status?.result === 'Held');
    await go('/requests?request=edge-07');
    await page.locator('#request-edge-07').getByText('known id, another key').waitFor();
    expect(await page.getByLabel('Pick edge-07').count()).toBe(0);
    const key = (await fleet.hub.request('edge-07'))?.spec.keyFingerprint ?? '';
    await page.getByRole('button', { name: 'Replace the key edge-07…' }).click();
    await expectText(`compare ${key} with what the agent prints first`);
    await expectText(`rollcall approve --id edge-07 --replace-key ${key}`);
    await expectWellMade('requests-other-key');
    // What decides is the server, not what a page shows: another key than the one that asks is refused there.
    const refused = await page.evaluate(async () => {
      const action = { verb: 'approve', target: 'edge-07', isId: true, key: '0000-0000-0000-0000' };
      const answer = await fetch('/api/actions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(action),
      });
      return { status: answer.status, body: (await answer.json()) as unknown };
    });
    expect(refused).toMatchObject({
      status: 400,
      body: { message: `the key that asks is ${key}, not "0000-0000-0000-0000"` },
    });
    expect((await fleet.hub.request('edge-07'))?.status?.result).toBe('Held');
    await page.getByLabel(/^Why/).fill('reinstalled');
    await page.getByRole('button', { name: 'Approve edge-07', exact: true }).click();
    await expectText(/by alice: .*reinstalled/);
    await page.getByRole('button', { name: 'Close' }).click();
  });
}
