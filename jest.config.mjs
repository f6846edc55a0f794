// Three projects: unit (pure code and loopback sockets), integration (real OPA, API server, bundles, the demo) and
// e2e (a whole cluster). `*.integration.test.ts` and everything under e2e/ say by their name where they belong.
const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['<rootDir>/scripts/jest-transform.mjs', {}] },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
};

/** @type {import('jest').Config} */
export default {
  testTimeout: 20_000,
  maxWorkers: 2,
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/**/*.test.ts'],
      testPathIgnorePatterns: [
        '/node_modules/',
        '<rootDir>/dist/',
        '<rootDir>/e2e/',
        '\\.integration\\.test\\.ts$',
        '<rootDir>/testing/planted/',
      ],
    },
    {
      ...common,
      displayName: 'integration',
      testMatch: ['<rootDir>/**/*.integration.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/dist/', '<rootDir>/e2e/'],
    },
    { ...common, displayName: 'e2e', testMatch: ['<rootDir>/e2e/**/*.test.ts'] },
  ],
};
