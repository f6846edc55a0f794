// What lint-chart.ts does without a kube-linter of its own; the suite `kube-linter` of `make test` lints.
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

test('where no module can be had it says so in one line, and that it could not run', async () => {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const { code, stdout, stderr } = await lintChart({
    KUBE_LINTER: '',
    PATH: folders.filter((folder) => !existsSync(join(folder, 'kube-linter'))).join(delimiter),
    ...{ CLUSTER_CACHE: empty, GOMODCACHE: join(empty, 'modules'), GOPROXY: 'off' },
  });
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  // Without Go there is no kube-linter either, nor anything that it would be needed for.
  expect(stderr).toMatch(/^(kube-linter v\S+ cannot be had here: .*module lookup disabled|SKIPPED, ).*\n$/);
});

(whyNoControlPlane() ? describe.skip : describe)('a KUBE_LINTER that is none is an error', () => {
  test.each([
    ['a path to nothing', '/nowhere', 'KUBE_LINTER: /nowhere is no program'],
    ['another program', process.execPath, 'gives no report'],
  ])('%s', async (_what, KUBE_LINTER, words) => {
    const { code, stderr } = await lintChart({ KUBE_LINTER });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(words) });
  });
});
