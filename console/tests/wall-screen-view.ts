import { expect, test } from 'vitest';
import { takeScreenshots } from './browser.ts';
import { overflowOf, type Stage } from './stage.ts';

/** Of the screen, and how much larger than on a desk everything is there. */
const screens = [
  { width: 2560, height: 1440, scale: 1.5 },
  { width: 3840, height: 2160, scale: 2 },
];

export function testWallScreen(stage: () => Stage): void {
  test.each(screens)(
    'on a wall screen of $width pixels all is larger, and the cell that is pointed at is the one that opens',
    async ({ width, height, scale }) => {
      const { page, go } = stage();
      const heading = page.getByRole('heading', { level: 1 });
      const lineHeight = async () => {
        await heading.getByText('members are well').waitFor();
        return (await heading.boundingBox())?.height ?? 0;
      };
      await go('/');
      const onDesk = await lineHeight();
      await page.setViewportSize({ width, height });
      await go('/');
      expect((await lineHeight()) / onDesk).toBeCloseTo(scale, 1);
      expect(await overflowOf(page)).toBe(0);
      const edge = page.locator('.wall .names span').getByText(/^edge/);
      const { x, y } = (await edge.boundingBox()) ?? { x: 0, y: 0 };
      const firstCell = [x + 4 * scale, y + 24 * scale] as const;
      await page.mouse.move(...firstCell);
      const name = (await page.locator('.tip b').textContent()) ?? '';
      expect(name).toMatch(/^edge-/);
      await takeScreenshots(page, `wall-screen-${width}`);
      await page.mouse.click(...firstCell);
      await heading.getByText(`${name} is Ready`).waitFor();
      await page.setViewportSize({ width: 1440, height: 900 });
    },
  );
}
