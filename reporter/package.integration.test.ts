import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const run = promisify(execFile);
const PROGRAM = `
  const reporter = createReporter({
    manifest: {
      metadata: { name: 'shop' },
      spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:NOT_SET' } },
    },
    env: {},
  });
  reporter.start();
  reporter.recordUsage('gpt', 1, 2);
  reporter.getReport().then((report) => {
    process.stdout.write(JSON.stringify([report.agentName, report.status, reporter.getUsage().totalTokens]));
    return reporter.stop();
  });
`;

test.each([
  ['module', `import { createReporter } from 'agent-compliance/reporter';`],
  ['commonjs', `const { createReporter } = require('agent-compliance/reporter');`],
])('the packaged reporter runs in a %s program', async (type, line) => {
  const { stdout, stderr } = await run(process.execPath, [`--input-type=${type}`, '-e', line + PROGRAM], {
    // The package finds itself by its own name from here.
    cwd: dirname(import.meta.dirname),
    timeout: 15_000,
  });
  expect([stdout, stderr]).toEqual(['["shop","unhealthy",3]', '']);
});
