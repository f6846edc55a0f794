// Five projects. The name of a test file selects its project:
//   *.test.ts              unit: pure code and loopback sockets
//   *.integration.test.ts  real OPA, databases, client SDKs, bundles, the demo
//   *.apiserver.test.ts    a real API server with etcd, without nodes
//   *.realtime.test.ts     tests where real time has to pass; run alone (CONTRIBUTING.md lists the limits)
//   e2e/*.test.ts          the product in one cluster that all of them share, and that cluster and its images
// `npm run jest` gives Node.js a larger young generation and keeps bytecode: modules are compiled for each test file, and a fifth
// of the processor time went into garbage collection.
const common = {
  // Names the cache of transformed files: the same for all projects and checkouts, because its keys are the files' content.
  id: 'agent-compliance',
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': ['<rootDir>/scripts/jest-transform.mjs', {}] },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
};
const NOT_OURS = ['/node_modules/', '<rootDir>/dist/', '<rootDir>/testing/planted/'];
const named = (kind) => ({
  ...common,
  displayName: kind,
  testMatch: [`<rootDir>/**/*.${kind}.test.ts`],
  testPathIgnorePatterns: NOT_OURS,
});

/** @type {import('jest').Config} */
export default {
  // Ends a test that hangs; no test depends on it.
  testTimeout: 300_000,
  // No more busy processes than cores, and memory for no more than two workers.
  maxWorkers: 2,
  testSequencer: '<rootDir>/scripts/longest-first.mjs',
  // Modules of a test file stay in a worker's memory after it (V8 keeps contexts that ran ES modules). At a gigabyte or
  // more the worker takes longer to end than the half second that Jest gives it, and Jest then warns of a leak in the tests.
  workerIdleMemoryLimit: '400MB',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/**/*.test.ts'],
      testPathIgnorePatterns: [
        ...NOT_OURS,
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
