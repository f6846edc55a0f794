// Linter rules. Every finding fails `make check`; there are no warnings.
import { defineConfig } from 'oxlint';

export default defineConfig({
  plugins: ['typescript', 'oxc'],
  categories: { correctness: 'error' },
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: [
    'dist/**',
    'coverage/**',
    '**/*.generated.*',
    'node_modules/**',
    'testing/planted/**',
    'testing/fixtures/scan/**',
  ],
  // Bugs that the category `correctness` does not cover. no-useless-assignment is not enabled, because its unfinished
  // implementation in oxlint reports values that only the next loop iteration reads.
  rules: {
    'no-case-declarations': 'error',
    'no-empty': 'error',
    'no-fallthrough': 'error',
    'no-prototype-builtins': 'error',
    'no-regex-spaces': 'error',
    'no-unexpected-multiline': 'error',
    'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'preserve-caught-error': 'error',
    // Spreading a string into code points is intended.
    'typescript/no-misused-spread': 'off',
  },
  overrides: [
    {
      files: ['**/*.ts', '**/*.tsx'],
      rules: {
        // Unawaited promises are a common bug in a proxy; `void` marks the intended ones.
        'typescript/no-floating-promises': ['error', { ignoreVoid: true }],
        'typescript/no-misused-promises': 'error',
        'typescript/only-throw-error': 'error',
        'typescript/prefer-promise-reject-errors': 'error',
        'typescript/require-await': 'error',
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        'typescript/restrict-plus-operands': 'error',
        'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
        eqeqeq: 'error',

        // Constructs that bypass the compiler's checks.
        'typescript/ban-ts-comment': 'error',
        // An interface that extends a derived type gives it a name in editors.
        'typescript/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
        'typescript/no-explicit-any': 'error',
        'typescript/no-non-null-assertion': 'error',
        'typescript/no-unnecessary-type-assertion': 'error',
        'typescript/no-unnecessary-type-constraint': 'error',
        'typescript/no-unsafe-argument': 'error',
        'typescript/no-unsafe-assignment': 'error',
        'typescript/no-unsafe-call': 'error',
        'typescript/no-unsafe-enum-comparison': 'error',
        'typescript/no-unsafe-function-type': 'error',
        'typescript/no-unsafe-member-access': 'error',
        'typescript/no-unsafe-return': 'error',

        // One way to write each thing.
        'no-array-constructor': 'error',
        'no-empty-function': 'error',
        'no-var': 'error',
        'prefer-const': 'error',
        'prefer-rest-params': 'error',
        'prefer-spread': 'error',
        'typescript/adjacent-overload-signatures': 'error',
        'typescript/array-type': 'error',
        'typescript/ban-tslint-comment': 'error',
        'typescript/class-literal-property-style': 'error',
        'typescript/consistent-generic-constructors': 'error',
        'typescript/consistent-indexed-object-style': 'error',
        'typescript/consistent-type-assertions': 'error',
        'typescript/consistent-type-definitions': 'error',
        'typescript/consistent-type-imports': 'error',
        'typescript/dot-notation': 'error',
        'typescript/no-confusing-non-null-assertion': 'error',
        'typescript/no-inferrable-types': 'error',
        'typescript/no-namespace': 'error',
        'typescript/no-require-imports': 'error',
        'typescript/non-nullable-type-assertion-style': 'error',
        'typescript/prefer-find': 'error',
        'typescript/prefer-for-of': 'error',
        'typescript/prefer-function-type': 'error',
        'typescript/prefer-includes': 'error',
        'typescript/prefer-nullish-coalescing': 'error',
        'typescript/prefer-optional-chain': 'error',
        'typescript/prefer-regexp-exec': 'error',
        'typescript/prefer-string-starts-ends-with': 'error',

        'max-params': ['error', 4],
        'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
        'max-lines': ['error', { max: 320, skipBlankLines: true, skipComments: true }],
        'no-console': 'error',
        // One seed for all property tests: with random seeds a test could fail on an unrelated change.
        'no-restricted-imports': [
          'error',
          {
            name: 'fast-check',
            message: 'Import it from testing/random/properties.ts, which sets the seed of the run.',
          },
        ],
      },
    },
    {
      // The environment is read in one place per process, so that configuration is a value everywhere else.
      files: [
        'core/**/*.ts',
        'authoring/**/*.ts',
        'runtime/**/*.ts',
        'kube/**/*.ts',
        'probe/**/*.ts',
        'push/**/*.ts',
        'llm/**/*.ts',
        'sidecar/**/*.ts',
        'operator/**/*.ts',
        'webhook/**/*.ts',
        'control-plane/**/*.ts',
      ],
      rules: {
        'no-restricted-properties': [
          'error',
          {
            object: 'process',
            property: 'env',
            message: 'Only main.ts reads process.env; take the value from the context.',
          },
          {
            object: 'process',
            property: 'exit',
            message: 'Set process.exitCode and let the process end.',
          },
        ],
      },
    },
    {
      // Browsers have no names of Node.js.
      files: ['dashboard/**/*.ts', 'dashboard/**/*.tsx'],
      env: { browser: true },
      rules: {
        'no-restricted-globals': ['error', 'process', 'Buffer', 'global', 'require', 'setImmediate'],
        // Components read their functions out of the properties, which are plain objects.
        'typescript/unbound-method': 'off',
      },
    },
    { files: ['dashboard/**/*.test.ts'], rules: { 'no-restricted-globals': 'off' } },
    { files: ['**/main.ts', '**/*.test.ts'], rules: { 'no-restricted-properties': 'off' } },
    {
      files: ['**/*.test.ts', 'testing/**/*.ts', 'e2e/**/*.ts'],
      rules: {
        'max-lines-per-function': 'off',
        'max-lines': 'off',
        'typescript/no-non-null-assertion': 'off',
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/require-await': 'off',
        'typescript/require-array-sort-compare': 'off',
      },
    },
    { files: ['testing/random/properties.ts'], rules: { 'no-restricted-imports': 'off' } },
    {
      files: ['scripts/**', 'examples/**', 'cli/**', 'bench/**', 'e2e/**'],
      rules: { 'no-console': 'off' },
    },
    {
      // The compiler does not check these, and without its types a method taken from a prototype looks unbound.
      files: ['**/*.{js,mjs,cjs}'],
      globals: {
        process: 'readonly',
        console: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        performance: 'readonly',
      },
      rules: { 'no-redeclare': 'error', 'no-undef': 'error', 'typescript/unbound-method': 'off' },
    },
    {
      files: ['testing/frameworks/programs/*.mjs'],
      globals: {
        fetch: 'readonly',
        AbortController: 'readonly',
        Headers: 'readonly',
        ReadableStream: 'readonly',
        Response: 'readonly',
        TextEncoder: 'readonly',
        TextEncoderStream: 'readonly',
      },
    },
    { files: ['**/*.cjs'], env: { commonjs: true } },
  ],
});
