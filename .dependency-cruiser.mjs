// The rooms of the house and the only arrows between them (docs/architecture.md). Every rule is proven by a planted
// violation under testing/planted (scripts/check-layers.mjs), because a layer check that finds nothing also passes.
const PARTS = '(sidecar|operator|webhook|control-plane|reporter|cli)';
const TEST = '(\\.test\\.ts$|^testing/(?!planted/)|^e2e/|^bench/|^examples/|^scripts/)';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'parts-are-islands',
      severity: 'error',
      comment: 'A part never imports another part; what two parts share lives in a room below them.',
      from: { path: `^(?:testing/planted/)?${PARTS}/`, pathNot: '\\.test\\.ts$' },
      to: { path: `^${PARTS}/`, pathNot: '^$1/' },
    },
    {
      name: 'core-is-pure',
      severity: 'error',
      comment:
        'core/ imports itself, ajv and the YAML parser: no clock, no environment, no network, no files.',
      from: { path: '^(?:testing/planted/)?core/', pathNot: '\\.test\\.ts$' },
      to: {
        pathNot:
          '^(core/|node_modules/(ajv|ajv-formats|yaml|fast-deep-equal|json-schema-traverse|fast-uri|require-from-string)/)',
      },
    },
    {
      name: 'kubernetes-client-under-kube',
      severity: 'error',
      comment:
        'The Kubernetes client is imported under kube/ alone: the sidecar bundle and the reporter stay small.',
      from: { pathNot: '^(kube/|e2e/|node_modules/)' },
      to: { path: 'node_modules/@kubernetes/client-node' },
    },
    {
      name: 'kube-for-cluster-parts',
      severity: 'error',
      comment:
        'kube/ serves the operator, the webhook and the control plane, never the sidecar or the reporter; of the CLI only what is loaded for a cluster.',
      from: {
        path: '^(?:testing/planted/)?(sidecar|reporter|cli(?!/cluster/)|core|probe|push|runtime)/',
        pathNot: '\\.test\\.ts$',
      },
      to: { path: '^kube/' },
    },
    {
      name: 'cluster-commands-load-late',
      severity: 'error',
      comment: 'The CLI loads what speaks to a cluster only for the commands that do (scripts/build.mjs).',
      from: { path: '^(?:testing/planted/)?cli/(?!cluster/)', pathNot: '\\.test\\.ts$' },
      to: { path: '^cli/cluster/', dependencyTypesNot: ['dynamic-import', 'type-only'] },
    },
    {
      name: 'reporter-has-no-dependency',
      severity: 'error',
      comment:
        "The reporter runs inside other people's servers: Node's builtins, probe/, push/ and core/ only.",
      from: { path: '^(?:testing/planted/)?(reporter|probe|push)/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^(reporter|probe|push|core)/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'shared-rooms-know-no-part',
      severity: 'error',
      comment: 'The arrows only point down.',
      from: { path: '^(?:testing/planted/)?(core|runtime|kube|probe|push)/', pathNot: '\\.test\\.ts$' },
      to: { path: `^${PARTS}/` },
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
    exclude: { path: '^(dist|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
