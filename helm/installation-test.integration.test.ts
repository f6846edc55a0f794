// What the pod of `helm test` says where nothing answers; e2e/install.test.ts has it pass.
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { run } from '../e2e/cluster/run.ts';
import { CHART } from '../testing/rendered-chart.ts';

describe('the test of an installation in which nothing answers', () => {
  const check = async (more: Record<string, string>) => {
    const { code, stdout } = await run([process.execPath, join(CHART, 'files/installation-test.cjs')], {
      env: {
        // Where nobody listens: a port that was free a moment ago may be another test's.
        CONTROL_PLANE_URL: 'https://127.0.0.1:9',
        WEBHOOK_URL: 'https://127.0.0.1:9',
        OPERATOR_URL: 'http://127.0.0.1:9',
        API_SERVER_URL: 'https://127.0.0.1:9',
        AUTHORITIES_DIR: '/nowhere',
        ACCOUNT_DIR: '/nowhere',
        PATIENCE_SECONDS: '0',
        ...more,
      },
    });
    return { code, said: stdout.split('\n').map((line) => line.split(':')[0]) };
  };

  test('fails, with a line for each check', async () => {
    const said = [...Array.from({ length: 7 }, () => 'FAILED'), ''];
    expect(await check({ CANARY_NAMESPACE: 'platform-canary' })).toEqual({ code: 1, said });
  });

  test('leaves out what a release without the canary does not have', async () => {
    const { said } = await check({});
    expect(said.filter((each) => each === 'skipped')).toHaveLength(2);
  });
});
