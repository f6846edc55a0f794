// Tests lint-chart.ts without kube-linter; the suite `kube-linter` of `make test` runs the linter.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';

const lintChart = (env: NodeJS.ProcessEnv) =>
  run([process.execPath, join(import.meta.dirname, 'lint-chart.ts')], { env: { ...process.env, ...env } });

let empty: string;
beforeAll(() => {
  empty = mkdtempSync(join(tmpdir(), 'lint-chart-'));
});
afterAll(() => rmSync(empty, { recursive: true, force: true }));

test('exits with 3 and one line of explanation if Go modules are unavailable', async () => {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const { code, stdout, stderr } = await lintChart({
    KUBE_LINTER: '',
    PATH: directories.filter((directory) => !existsSync(join(directory, 'kube-linter'))).join(delimiter),
    ...{ CLUSTER_CACHE: empty, GOMODCACHE: join(empty, 'modules'), GOPROXY: 'off' },
  });
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  // Without Go neither kube-linter nor the test cluster can be built.
  expect(stderr).toMatch(/^(kube-linter v\S+ is not available: .*module lookup disabled|SKIPPED, ).*\n$/);
});

(whyNoControlPlane() ? describe.skip : describe)('an invalid KUBE_LINTER is an error', () => {
  test.each([
    ['a path that does not exist', '/nowhere', 'KUBE_LINTER: /nowhere is not an executable file'],
    ['another program', process.execPath, 'returned no report'],
  ])('%s', async (_what, KUBE_LINTER, message) => {
    const { code, stderr } = await lintChart({ KUBE_LINTER });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
  });
});
