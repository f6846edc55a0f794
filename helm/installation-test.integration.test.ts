// The output of the `helm test` pod without a running installation; in e2e/install.test.ts the pod passes.
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { run } from '../e2e/cluster/run.ts';
import { CHART } from '../testing/cluster/rendered-chart.ts';

describe('the installation test without a running installation', () => {
  const check = async (more: Record<string, string>) => {
    const { code, stdout } = await run([process.execPath, join(CHART, 'files/installation-test.cjs')], {
      env: {
        // A port without a listener. A port that was free a moment ago could belong to another test.
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
    return { code, reported: stdout.split('\n').map((line) => line.split(':')[0]) };
  };

  test('fails with one line per check', async () => {
    const reported = [...Array.from({ length: 7 }, () => 'FAILED'), ''];
    expect(await check({ CANARY_NAMESPACE: 'platform-canary' })).toEqual({ code: 1, reported });
  });

  test('skips the checks of the canary in a release without the canary', async () => {
    const { reported } = await check({});
    expect(reported.filter((each) => each === 'skipped')).toHaveLength(2);
  });
});
