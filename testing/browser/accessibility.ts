import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const ROOT = dirname(dirname(import.meta.dirname));
/** WCAG 2.2 A and AA: a tag names the version that added the success criterion. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'];
const ALL = { type: 'tag', values: TAGS };
/** The rules whose result depends on the colors alone. */
const COLORS = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

let source: string | undefined;

/**
 * The violations of WCAG 2.2 AA that axe finds on the page as it is shown now, one text for each element.
 * @param rules `colors`: after a change of the color scheme alone
 */
export async function violationsOf(page: Page, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  source ??= readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
  // The debugger evaluates texts, which the policy of the page does not allow to scripts.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(source);
  const options = { runOnly: rules === 'all' ? ALL : COLORS, resultTypes: ['violations'] };
  const { violations, passes } = await page.evaluate<AxeResults>(
    `axe.run(document, ${JSON.stringify(options)})`,
  );
  if (passes.length === 0) throw new Error('axe ran no rule');
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id} (${help}): ${target.join(' ')}\n${failureSummary ?? ''}`,
    ),
  );
}
