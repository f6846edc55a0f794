// Checks the layer rules, then proves that each rule still works: every file under testing/planted breaks one rule, and
// the check fails if one of these violations is not detected.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import configuration from '../.dependency-cruiser.mjs';

const root = dirname(import.meta.dirname);
process.chdir(root);
const PACKAGES = [
  'core',
  'authoring',
  'runtime',
  'kube',
  'probe',
  'push',
  'llm',
  'sidecar',
  'operator',
  'webhook',
  'control-plane',
  'reporter',
  'cli',
  'dashboard',
  'testing',
  'e2e',
  'examples',
  'bench',
  'scripts',
];
const PLANTED = {
  'core-is-pure': 'testing/planted/core/planted.ts',
  'core-folders-are-layered': 'testing/planted/core/manifest/upwards.ts',
  'authoring-is-pure': 'testing/planted/authoring/planted.ts',
  'kubernetes-client-under-kube': 'testing/planted/sidecar/planted.ts',
  'reporter-has-no-dependency': 'testing/planted/reporter/planted.ts',
  'parts-do-not-import-parts': 'testing/planted/sidecar/another-part.ts',
  'kube-for-cluster-parts': 'testing/planted/sidecar/kube.ts',
  'large-parts-load-late': 'testing/planted/cli/early-cluster.ts',
  'llm-sdks-load-late': 'testing/planted/cli/early-sdk.ts',
  'no-tests-in-product': 'testing/planted/sidecar/test-code.ts',
  'packages-do-not-import-parts': 'testing/planted/runtime/part.ts',
  'not-to-dev-dependency': 'testing/planted/runtime/dev-dependency.ts',
  'dashboard-imports-core-only': 'testing/planted/dashboard/node-code.tsx',
  'no-cycles': 'testing/planted/core/cycle-back.ts',
};

async function violationsOf(paths) {
  const { output } = await cruise(
    paths,
    { ...configuration.options, validate: true, ruleSet: { forbidden: configuration.forbidden } },
    {},
    { tsConfig: extractTSConfig('tsconfig.json') },
  );
  return { violations: output.summary.violations, cruised: output.summary.totalCruised };
}

const packages = PACKAGES.filter((directory) => existsSync(join(root, directory)));
const { violations, cruised } = await violationsOf(packages);
const isPlanted = (violation) => violation.from.startsWith('testing/planted/');
const real = violations.filter((violation) => !isPlanted(violation));
for (const { rule, from, to } of real) console.error(`${rule.name}: ${from} -> ${to}`);
let failed = real.length > 0;
for (const { name: rule } of configuration.forbidden) {
  const from = PLANTED[rule];
  if (!violations.some((violation) => violation.rule.name === rule && violation.from === from)) {
    console.error(
      `planted violation of ${rule} not detected (${from ?? 'no file for this rule'}): the rule has no effect`,
    );
    failed = true;
  }
}
console.log(
  failed
    ? 'layers: failed'
    : `layers: ${cruised} modules, no violations, ${Object.keys(PLANTED).length} planted violations detected`,
);
process.exitCode = failed ? 1 : 0;
