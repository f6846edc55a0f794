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
  // Far more than any test needs: a busy machine must not decide.
  testTimeout: 300_000,
  maxWorkers: 2,
  testSequencer: '<rootDir>/scripts/jest-sequencer.ts',
  // Modules of a test file stay in a worker's memory after it (V8 keeps contexts that ran ES modules). At a gigabyte or
  // more the worker takes longer to end than the half second that Jest gives it, and Jest then warns of a leak in the tests.
  workerIdleMemoryLimit: '400MB',
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
