import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { violationsOf } from './accessibility.ts';
import { eventually } from './chromium.ts';

const IMAGES = join(dirname(dirname(import.meta.dirname)), 'docs/images');
const isUpdate = process.env['UPDATE_SCREENSHOTS'] === '1';
/** High, so that the rows of the fleet are in the window. */
export const DESKTOP = { width: 1280, height: 1800 };

/** Runs an expression in the page. */
export const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate<T>(expression);

/** A visible text is there. */
export const shown = (page: Page, text: string): Promise<void> =>
  page.getByText(text).filter({ visible: true }).first().waitFor();

/** No part of the page is still loading. */
export const isLoaded = (page: Page): Promise<void> =>
  eventually(async () => expect(await page.locator('.loading, progress').count()).toBe(0));

/** WCAG 1.4.10: a window of this width needs no horizontal scrolling. */
export const NARROW = { width: 320, height: 640 };

export const overflow = (page: Page): Promise<number> =>
  inPage(page, 'document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** Changes the color scheme of the system. The page follows with one of its next frames. */
export async function setColorScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await inPage(
    page,
    `new Promise((resolve) => {
      const query = matchMedia('(prefers-color-scheme: ${colorScheme})');
      const check = () => (query.matches ? requestAnimationFrame(() => requestAnimationFrame(resolve)) : requestAnimationFrame(check));
      check();
    })`,
  );
}

/** Axe in both color schemes, and the width of a narrow window. */
export async function expectAccessible(page: Page): Promise<void> {
  await setColorScheme(page, 'light');
  expect(await violationsOf(page)).toEqual([]);
  await setColorScheme(page, 'dark');
  expect(await violationsOf(page, 'colors')).toEqual([]);
  await page.setViewportSize(NARROW);
  await eventually(async () => expect(await overflow(page)).toBeLessThanOrEqual(0));
  await page.setViewportSize(DESKTOP);
}

/** Compares the page with `docs/images/dashboard-<name>`, or writes it there. Call `isLoaded` first. */
export async function expectScreenshot(page: Page, name: string): Promise<void> {
  // Pixels depend on fonts and on the browser, so the accessibility tree decides. Ids are random.
  const tree = `${(await page.locator('body').ariaSnapshot()).replaceAll(/agt_\w+/g, 'agt_…')}\n`;
  const file = join(IMAGES, `dashboard-${name}.aria.txt`);
  if (isUpdate) {
    await writeFile(file, tree);
    await page.screenshot({ path: join(IMAGES, `dashboard-${name}.png`) });
  }
  expect(tree).toBe(await readFile(file, 'utf8'));
  // A PNG file.
  const image = await readFile(join(IMAGES, `dashboard-${name}.png`));
  expect(image.subarray(1, 4).toString()).toBe('PNG');
}
