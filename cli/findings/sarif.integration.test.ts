import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { runBuiltCommand } from '../../testing/machine/built-command.ts';
import { SCHEMAS } from '../../testing/cluster/kubernetes-schemas.ts';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';

/** The schema of SARIF 2.1.0 by OASIS, which e2e/cluster/build.sh downloads. */
function sarifSchema(): ValidateFunction {
  const text = readFileSync(join(SCHEMAS, 'sarif-2.1.0.json'), 'utf8');
  // The schema is written for draft 04, of which it uses only what draft 07 also has, except the identifiers.
  const { id: _id, $schema: _draft, ...schema } = JSON.parse(text) as Record<string, unknown>;
  const formats = {
    'date-time': true,
    uri: (value: string) => URL.canParse(value),
    'uri-reference': (value: string) =>
      /^[\x21-\x7e]+$/.test(value) && URL.canParse(value, 'https://base.example'),
  } as const;
  return new Ajv({ strict: false, allErrors: true, formats }).compile(schema);
}

// The schema is part of the test cluster's binaries.
(whyNoControlPlane() ? describe.skip : describe)('the schema of OASIS accepts the SARIF output of', () => {
  let cwd: string;
  let validate: ValidateFunction;

  beforeAll(() => {
    validate = sarifSchema();
    cwd = mkdtempSync(join(tmpdir(), 'sarif-'));
    const changed = FULL_MANIFEST.replace('id: ', 'id: x').replace(
      'destructiveHint: true',
      'destructiveHint: false',
    );
    writeFileSync(join(cwd, 'good agent.yaml'), FULL_MANIFEST);
    writeFileSync(join(cwd, 'changed.yaml'), changed);
    writeFileSync(join(cwd, 'bare.yaml'), manifestText('  tools: [{ name: "a\\u0007 löschen ` | <b>" }]\n'));
    writeFileSync(join(cwd, 'bad#1.yaml'), manifestText('  tols: []\n').replace('1.0.0', '1.0'));
  });

  afterAll(() => rmSync(cwd, { recursive: true, force: true }));

  // null: not checked.
  test.each<[string, string[], boolean | null]>([
    ['validate of a valid manifest', ['validate', 'good agent.yaml'], false],
    ['validate with warnings', ['validate', 'bare.yaml'], true],
    ['validate of an invalid manifest', ['validate', 'bad#1.yaml'], true],
    ['validate of a missing file', ['validate', 'none.yaml'], true],
    ['audit', ['audit', 'bare.yaml'], true],
    ['audit of a full manifest', ['audit', 'good agent.yaml'], null],
    ['diff', ['diff', 'good agent.yaml', 'changed.yaml'], true],
    ['diff without a change', ['diff', 'bare.yaml', 'bare.yaml'], false],
  ])('%s', async (_what, args, hasResults) => {
    const { output } = await runBuiltCommand([...args, '--format', 'sarif'], { cwd });
    const log = JSON.parse(output) as { runs: { results: unknown[] }[] };
    expect({ isValid: validate(log), errors: validate.errors }).toEqual({ isValid: true, errors: null });
    const count = log.runs[0]?.results.length ?? 0;
    if (hasResults !== null) expect(count > 0).toBe(hasResults);
  });

  test('and rejects a log with a wrong level', () => {
    const tool = { driver: { name: 'platform' } };
    const log = { version: '2.1.0', runs: [{ tool, results: [{ message: { text: 'x' }, level: 'high' }] }] };
    expect(validate(log)).toBe(false);
  });
});
