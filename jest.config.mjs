// Five projects. The name of a test file selects its project:
//   *.test.ts              unit: pure code and loopback sockets
//   *.integration.test.ts  real OPA, databases, client SDKs, bundles, the demo
//   *.apiserver.test.ts    a real API server with etcd, without nodes
//   *.realtime.test.ts     tests that need real time to pass; run alone (CONTRIBUTING.md lists the limits)
//   e2e/*.test.ts          the product in one shared cluster, and tests of the cluster and its images
// `npm run jest` sets a larger young generation and keeps bytecode, because modules are compiled for each test file and
// garbage collection took a fifth of the processor time.
const common = {
  // Name of the transform cache. All projects and checkouts share it, because its keys are hashes of file contents.
  id: 'agent-compliance',
  testEnvironment: 'node',
  runtime: '<rootDir>/scripts/jest-runtime.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['<rootDir>/scripts/jest-transform.mjs', {}] },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/testing/fixtures/scan/'],
  setupFilesAfterEnv: ['<rootDir>/testing/http/watch-responses.ts'],
};
const IGNORED = [
  '/node_modules/',
  '<rootDir>/dist/',
  '<rootDir>/testing/planted/',
  '<rootDir>/testing/fixtures/scan/',
];
const named = (kind) => ({
  ...common,
  displayName: kind,
  testMatch: [`<rootDir>/**/*.${kind}.test.ts`],
  testPathIgnorePatterns: IGNORED,
});

/** @type {import('jest').Config} */
export default {
  // Ends hanging tests; no test depends on this value.
  testTimeout: 300_000,
  // Not more busy processes than cores; memory is sufficient for two workers.
  maxWorkers: 2,
  testSequencer: '<rootDir>/scripts/longest-first.mjs',
  // A worker keeps the modules of finished test files in memory (V8 keeps contexts that ran ES modules).
  workerIdleMemoryLimit: '400MB',
  // With the default of half a second, Jest reports a leak in the tests on a busy machine: a worker of 700 MB needs 0.3 s to exit on
  // an idle one, and a worker that is replaced after its last test file has to start first.
  workerGracefulExitTimeout: 10_000,
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/**/*.test.ts'],
      testPathIgnorePatterns: [
        ...IGNORED,
        '<rootDir>/e2e/[^/]+$',
        '\\.(integration|apiserver|realtime)\\.test\\.ts$',
      ],
    },
    named('integration'),
    {
      ...named('apiserver'),
      globalSetup: '<rootDir>/e2e/share-spares.ts',
      globalTeardown: '<rootDir>/e2e/close-shared.ts',
    },
    named('realtime'),
    {
      ...common,
      displayName: 'e2e',
      testMatch: ['<rootDir>/e2e/*.test.ts'],
      globalSetup: '<rootDir>/e2e/share-cluster.ts',
      globalTeardown: '<rootDir>/e2e/close-shared.ts',
    },
  ],
};
