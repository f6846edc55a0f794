import { afterAll, describe, expect, test } from '@jest/globals';
import { judge } from '../core/organisation/judge.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { ManifestWorker } from './manifest-worker.ts';

/** Except for the limit itself, the results are tested and not the time. */
const worker = new ManifestWorker({ expressionMs: 60_000 });
const limited = new ManifestWorker();
afterAll(() => Promise.all([worker.close(), limited.close()]));

const VARIABLES = {
  manifest: {
    metadata: { name: 'shop' },
    spec: { model: { id: 'gpt-4o', parameters: { temperature: 0.5, maxTokens: 1000 } }, tools: [] },
  },
  namespaceObject: { metadata: { name: 'team', labels: { env: 'production' } } },
  many: Array.from({ length: 200 }, (_, index) => index),
};
const evaluate = (expression: string) => worker.evaluate(expression, VARIABLES);

describe('the worker of manifests', () => {
  test('parses a manifest', async () => {
    const parsed = await worker.parse(manifestText('  tools: [{ name: search }]\n'));
    expect(parsed).toMatchObject({ ok: true, manifest: { spec: { tools: [{ name: 'search' }] } } });
    expect(await worker.parse('kind: 1')).toMatchObject({ ok: false });
  });

  test('judges a manifest', async () => {
    const parsed = await worker.parse(manifestText());
    if (parsed?.ok !== true) throw new Error('not parsed');
    const rules = [{ id: 'models', action: 'Deny' as const, models: { allowed: ['none/*'] } }];
    const subject = {
      ...{ namespace: null, labels: null, names: [], observation: null, at: new Date(0) },
      manifest: parsed.manifest,
    };
    const policies = [{ name: 'production', spec: { rules } }];
    expect(await worker.judge(policies, subject)).toEqual(judge(policies, subject));
    expect(judge(policies, subject).findings).toHaveLength(1);
  });

  test.each([
    ['manifest.metadata.name == "shop"', true],
    ['!has(manifest.spec.model.fallback)', true],
    ['manifest.spec.model.parameters.temperature > 1.0', false],
    // As in the API server: integers and doubles are different types with a common order.
    ['manifest.spec.model.parameters.maxTokens * 2 == 2000', true],
    ['manifest.spec.model.parameters.maxTokens <= 1000.5', true],
    ['namespaceObject.metadata.labels.env == "production"', true],
    ['manifest.spec.tools.all(t, t.name != "shell")', true],
    ['"a,b".split(",").size() == 2', true],
    ['manifest.spec.model.id', { error: 'the result is not true or false' }],
    ['manifest.spec.none.x == 1', { error: 'field not found: none' }],
    ['a ++ b', { error: expect.stringContaining('expecting end of input') }],
    ['manifest.spec.constructor.name == "Map"', { error: 'field not found: constructor' }],
    ['cel.bind(x, 1, x == 1)', { error: expect.any(String) }],
  ])('%s', async (expression, expected) => {
    expect(await evaluate(expression)).toEqual(expected);
  });

  test('ends an expression that does not end, and continues', async () => {
    const hostile = 'many.all(a, many.all(b, many.all(c, many.all(d, a + b + c + d >= 0))))';
    const [first, second] = await Promise.all([
      limited.evaluate(hostile, VARIABLES),
      limited.parse('kind: 1'),
    ]);
    expect(first).toEqual({ error: 'it needs more than 250 ms or too much memory' });
    expect(second).toMatchObject({ ok: false });
  });

  test('evaluates no expression after one that was ended', async () => {
    const hostile = 'many.all(a, many.all(b, many.all(c, many.all(d, a + b + c + d >= 0))))';
    const results = await limited.evaluateAll(['1 == 1', hostile, '2 == 2', `${hostile} && true`], VARIABLES);
    expect([...results.values()]).toEqual([
      true,
      { error: 'it needs more than 250 ms or too much memory' },
      ...Array.from({ length: 2 }, () => ({ error: 'another expression needs too much time or memory' })),
    ]);
  });

  test('ends a manifest that needs too long', async () => {
    // Nested flow maps: the parser needs more than quadratic time.
    const parsed = worker.parse('{a: '.repeat(200_000));
    const other = worker.parse(manifestText('  tools: []\n'));
    expect([null, false]).toContain((await parsed)?.ok ?? null);
    expect((await other)?.ok).toBe(true);
  });
});
