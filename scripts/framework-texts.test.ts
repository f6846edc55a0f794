import { expect, test } from '@jest/globals';
import { transform } from 'esbuild';
import { FRAMEWORK_TEXTS } from './framework-texts.ts';

const JAVASCRIPT = Object.entries(FRAMEWORK_TEXTS).filter(([page]) => page.endsWith('-js'));

test.each(JAVASCRIPT)('the lines of %s are a program', async (_page, { lines, report = '' }) => {
  const { code } = await transform([...lines, report].join('\n'), { format: 'esm' });
  expect(code).toContain('agent-compliance/integrations/');
});
