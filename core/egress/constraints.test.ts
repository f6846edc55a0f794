import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { aManifest } from '../../testing/fleet/facts.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { CONSTRAINT_KEYWORDS } from '../manifest/constraint-problems.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import { compileConstraints, MAX_ARGUMENTS } from './constraints.ts';

const check = (constraints: Record<string, unknown>, text: string): boolean | undefined =>
  compileConstraints(aManifest({ tools: [{ name: 'pay', constraints }, { name: 'look' }] })).get('pay')?.(
    text,
  );

describe('arguments', () => {
  test.each<[string, Record<string, unknown>, string, boolean]>([
    ['of the right type', { properties: { n: { type: 'integer', maximum: 5 } } }, '{"n":5}', true],
    ['above a maximum', { properties: { n: { type: 'integer', maximum: 5 } } }, '{"n":6}', false],
    ['without a required one', { required: ['n'] }, '{}', false],
    ['that are empty text', { required: ['n'] }, '', false],
    ['that are empty text without a required one', {}, ' ', true],
    ['with an additional one', { properties: {}, additionalProperties: false }, '{"n":1}', false],
    ['that match a pattern', { properties: { id: { pattern: '^A\\d+$' } } }, '{"id":"A12"}', true],
    ['that do not match a pattern', { properties: { id: { pattern: '^A\\d+$' } } }, '{"id":"B"}', false],
    ['with a member of the prototype as required', { required: ['constructor'] }, '{}', false],
    ['that are a list', { type: 'object' }, '[]', false],
    ['that are not JSON', {}, '{"n":', false],
    ['of a schema that does not compile', { type: 'no-type' }, '{}', false],
  ])('%s', (_what, constraints, text, isValid) => {
    expect(check(constraints, text)).toBe(isValid);
  });

  test('that are too long are not valid', () => {
    expect(check({}, `"${'a'.repeat(MAX_ARGUMENTS)}"`)).toBe(false);
  });

  test('that are nested too deeply for the schema are not valid', () => {
    expect(check({ items: { $ref: '#' } }, '['.repeat(100_000) + ']'.repeat(100_000))).toBe(false);
  });

  test('of a tool without constraints are not checked', () => {
    expect([...compileConstraints(aManifest({ tools: [{ name: 'look' }] })).keys()]).toEqual([]);
  });
});

describe('the constraints of a manifest', () => {
  const problemsOf = (constraints: unknown): string[] => {
    const tools = JSON.stringify([{ name: 'pay', constraints }]);
    const parsed = parseManifest(manifestText(`  tools: ${tools}\n`));
    return parsed.ok
      ? []
      : parsed.problems.map(({ path, message, suggestion = '' }) => `${path}: ${message} ${suggestion}`);
  };

  test.each<[string, unknown, string[]]>([
    [
      'with a misspelt keyword',
      { requird: ['a'] },
      ['.requird: "requird" is not a keyword that constraints can have required'],
    ],
    ['with a reference', { $ref: '#/x' }, ['["$ref"]: "$ref" is not a keyword that constraints can have ']],
    [
      'with a keyword of the prototype',
      { constructor: 1 },
      ['.constructor: "constructor" is not a keyword that constraints can have '],
    ],
    [
      'with an unknown type',
      { type: 'text' },
      ['.type: must be string, number, integer, boolean, object, array or null, or a list of these '],
    ],
    ['with a pattern that does not compile', { pattern: '(' }, ['.pattern: must be a regular expression ']],
    [
      'with a mistake in a member',
      { properties: { a: { minimum: '1' } } },
      ['.properties.a.minimum: must be a number '],
    ],
    [
      'with a mistake in an alternative',
      { anyOf: [true, { required: [1] }] },
      ['.anyOf[1].required: must be a list of different strings '],
    ],
    [
      'with several mistakes',
      { minLength: -1, multipleOf: 0 },
      ['.minLength: must be an integer of at least 0 ', '.multipleOf: must be a number above 0 '],
    ],
  ])('%s are a problem', (_what, constraints, problems) => {
    expect(problemsOf(constraints)).toEqual(problems.map((problem) => `spec.tools[0].constraints${problem}`));
  });

  test('that are not an object are a problem', () => {
    expect(problemsOf(['a'])).toEqual(['spec.tools[0].constraints: must be an object; got a list ']);
  });

  test('without a problem compile', () => {
    const scalar = fc.oneof(
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.string(),
      fc.constantFrom('string', 'a+', null),
    );
    const { schema } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.boolean(),
        fc.dictionary(fc.constantFrom(...Object.keys(CONSTRAINT_KEYWORDS)), tie('value'), { maxKeys: 4 }),
      ),
      value: fc.oneof(
        { maxDepth: 3 },
        scalar,
        fc.array(scalar, { maxLength: 3 }),
        fc.uniqueArray(fc.constantFrom('string', 'object', 'a', 'b'), { maxLength: 3 }),
        tie('schema'),
        fc.array(tie('schema'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }),
      ),
    }));
    let accepted = 0;
    fc.assert(
      fc.property(schema, (each) => {
        if (typeof each === 'boolean' || problemsOf(each).length > 0) return;
        accepted++;
        // As YAML reads them: JSON has no negative zero and no infinity.
        const read = JSON.parse(JSON.stringify(each)) as object;
        expect(() => new Ajv2020({ strict: false, logger: false }).compile(read)).not.toThrow();
      }),
      { numRuns: runs(300) },
    );
    expect(accepted).toBeGreaterThan(10);
  });
});
