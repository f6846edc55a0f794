// The packages and the allowed imports between them (docs/architecture.md). Every rule is tested with a planted violation
// under testing/planted (scripts/check-layers.mjs), because a layer check that finds nothing also passes.
const PARTS = '(sidecar|operator|webhook|control-plane|reporter|cli|dashboard)';
/** The folders of core/. Each imports only the folders before it. */
const CORE = [
  'untrusted',
  'vendors',
  'shapes',
  'manifest',
  'usage',
  'behavior',
  'facts',
  'otlp',
  'health',
  'egress',
  'census',
  'evidence',
  'policy',
  'record',
  'gap',
  'audit',
  'organisation',
  'injection',
  'observation',
  'fleet',
  'openapi',
];
const TEST = '(\\.test\\.ts$|^testing/(?!planted/)|^e2e/|^bench/|^examples/|^scripts/)';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'parts-do-not-import-parts',
      severity: 'error',
      comment: 'A part never imports another part. What two parts share is in a package below them.',
      from: { path: `^(?:testing/planted/)?${PARTS}/`, pathNot: '\\.test\\.ts$' },
      to: { path: `^${PARTS}/`, pathNot: '^$1/' },
    },
    {
      name: 'core-is-pure',
      severity: 'error',
      comment:
        'core/ imports only itself, ajv and the YAML parser: no clock, no environment, no network, no files.',
      from: { path: '^(?:testing/planted/)?core/', pathNot: '\\.test\\.ts$' },
      to: {
        pathNot:
          '^(core/|node_modules/(ajv|ajv-formats|yaml|fast-deep-equal|json-schema-traverse|fast-uri|require-from-string)/)',
      },
    },
    {
      name: 'core-folders-are-layered',
      severity: 'error',
      comment: 'A folder of core/ imports only the folders before it in the list CORE.',
      from: { path: `^core/(?!(${CORE.join('|')})/)` },
      to: {},
    },
    ...CORE.map((folder, index) => ({
      name: 'core-folders-are-layered',
      severity: 'error',
      comment: 'A folder of core/ imports only the folders before it in the list CORE.',
      from: { path: `^(?:testing/planted/)?core/${folder}/`, pathNot: '\\.test\\.ts$' },
      to: { path: '^core/', pathNot: `^core/(${CORE.slice(0, index + 1).join('|')})/` },
    })),
    {
      name: 'authoring-is-pure',
      severity: 'error',
      comment:
        'authoring/ writes and compares manifests and files: like core/, which it may import, without clock, environment, network and files.',
      from: { path: '^(?:testing/planted/)?authoring/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^(core|authoring)/|^node_modules/(yaml|diff|@lezer)/' },
    },
    {
      name: 'kubernetes-client-under-kube',
      severity: 'error',
      comment:
        'Only kube/ imports the Kubernetes client, so that the bundles of the sidecar and the reporter stay small.',
      from: { pathNot: '^(kube/|e2e/|node_modules/)' },
      to: { path: 'node_modules/@kubernetes/client-node' },
    },
    {
      name: 'kube-for-cluster-parts',
      severity: 'error',
      comment:
        'kube/ is for the operator, the webhook, the control plane and the cluster commands of the CLI.',
      from: {
        path: '^(?:testing/planted/)?(sidecar|reporter|cli(?!/cluster/)|core|authoring|probe|push|runtime|llm)/',
        pathNot: '\\.test\\.ts$',
      },
      to: { path: '^kube/' },
    },
    {
      name: 'large-parts-load-late',
      severity: 'error',
      comment:
        'The CLI loads the Kubernetes client and the MCP SDK only for the commands that need them (scripts/build.mjs).',
      from: { path: '^(?:testing/planted/)?cli/(?!cluster/|mcp/)', pathNot: '\\.test\\.ts$' },
      to: { path: '^cli/(cluster|mcp)/', dependencyTypesNot: ['dynamic-import', 'type-only'] },
    },
    {
      name: 'llm-sdks-load-late',
      severity: 'error',
      comment:
        'The SDKs of the LLM vendors are a bundle of their own (scripts/build.mjs), which only a request to a model loads.',
      from: { path: '^(?!llm/sdk/|node_modules/)', pathNot: TEST },
      to: {
        path: '^(llm/sdk/|node_modules/(openai|@anthropic-ai/sdk)/)',
        dependencyTypesNot: ['dynamic-import', 'type-only'],
      },
    },
    {
      name: 'reporter-has-no-dependency',
      severity: 'error',
      comment:
        "The reporter runs in the user's process: only Node's built-in modules, probe/, push/ and core/.",
      from: { path: '^(?:testing/planted/)?(reporter|probe|push)/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^(reporter|probe|push|core)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'packages-do-not-import-parts',
      severity: 'error',
      comment: 'Shared packages do not import the parts that use them.',
      from: {
        path: '^(?:testing/planted/)?(core|authoring|runtime|kube|probe|push|llm)/',
        pathNot: '\\.test\\.ts$',
      },
      to: { path: `^${PARTS}/` },
    },
    {
      name: 'dashboard-imports-core-only',
      severity: 'error',
      comment: 'The dashboard runs in browsers: only core/, Preact, its signals and uPlot.',
      from: { path: '^(?:testing/planted/)?dashboard/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^(dashboard/|core/|node_modules/(preact|@preact|uplot)/)' },
    },
    {
      name: 'no-tests-in-product',
      severity: 'error',
      from: { pathNot: TEST },
      to: { path: '(\\.test\\.ts$|^testing/|^e2e/|^bench/|^examples/)' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'not-to-dev-dependency',
      severity: 'error',
      from: { pathNot: TEST + '|\\.config\\.' },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: 'node_modules/@types/',
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|testing/fixtures/scan)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
