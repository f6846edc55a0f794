// Lints the rendered chart for each set of values with kube-linter, with the exceptions of helm/kube-linter.yaml. Then proves
// that the checks work: each planted fault must be found. Uses kube-linter from KUBE_LINTER= or the PATH, else builds the
// version of e2e/cluster/versions.env. Exit 3: not available on this machine, with one line of explanation.
import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run } from '../e2e/cluster/run.ts';
import { CHART_OPTIONS } from '../testing/cluster/chart-options.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { templateOf } from '../testing/cluster/rendered-chart.ts';
import { CANNOT_RUN } from './test-suites.ts';

const root = dirname(import.meta.dirname);
/** Enough for a build on a busy machine that must download every module. */
const BUILD_MS = 20 * 60_000;

/** Faults planted into the rendered defaults, and the kube-linter check that must find each. */
const PLANTED: readonly [text: string, fault: string, check: string][] = [
  ['readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false', 'no-read-only-root-fs'],
  ['runAsUser: 65521', 'runAsUser: 0', 'run-as-non-root'],
  ['memory: ', 'storage: ', 'unset-memory-requirements'],
  ['kind: ServiceAccount\n', 'kind: ConfigMap\n', 'non-existent-service-account'],
];

/** The used members of kube-linter's report. */
interface Report {
  Checks: object[];
  Reports: Finding[] | null;
}

interface Finding {
  Check: string;
  Diagnostic: { Message: string };
  Object: { K8sObject: { Name: string; GroupVersionKind: { Kind: string } } };
}

/** Reason why kube-linter is not available on this machine. */
class CannotRun extends Error {}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Path of kube-linter, which is built if necessary. Throws if it cannot be built. */
async function findLinter(): Promise<string> {
  const given = process.env['KUBE_LINTER'] ?? '';
  if (given !== '') {
    if (!isExecutable(given)) throw new Error(`KUBE_LINTER: ${given} is not an executable file`);
    return given;
  }
  const installed = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => join(directory, 'kube-linter'))
    .find(isExecutable);
  return installed ?? (await buildLinter());
}

async function buildLinter(): Promise<string> {
  // kube-linter needs no cluster, so E2E_KUBECONFIG is ignored.
  const env = { ...process.env, ONLY: 'kube-linter', E2E_KUBECONFIG: '' };
  const built = await run([join(root, 'e2e/cluster/build.sh')], { env, timeoutMs: BUILD_MS });
  if (built.code === CANNOT_RUN) throw new CannotRun(built.stderr.trim());
  if (built.code !== 0) throw new Error(`failed to build kube-linter: ${built.stderr.trim()}`);
  return clusterBinary('kube-linter');
}

async function lint(linter: string, manifests: string): Promise<Finding[]> {
  const config = join(root, 'helm/kube-linter.yaml');
  const options = ['--config', config, '--format', 'json', '--fail-if-no-objects-found'];
  const { stdout, stderr } = await run([linter, 'lint', ...options, '-'], { input: manifests });
  const report = readReport(stdout);
  if (report === null || report.Checks.length === 0)
    throw new Error(`${linter} returned no report: ${stderr.trim() || stdout.trim()}`);
  return report.Reports ?? [];
}

function readReport(text: string): Report | null {
  try {
    return JSON.parse(text) as Report;
  } catch {
    return null;
  }
}

async function rendered(values: object): Promise<string> {
  const { code, stdout, stderr } = await templateOf(values);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

const describe = ({ Check, Diagnostic, Object: { K8sObject } }: Finding): string =>
  `${K8sObject.GroupVersionKind.Kind} ${K8sObject.Name}: ${Diagnostic.Message} (${Check})`;

/** Problems of the chart, one line each. */
async function problemsOf(linter: string): Promise<string[]> {
  const problems: string[] = [];
  for (const [what, values] of Object.entries(CHART_OPTIONS))
    for (const finding of await lint(linter, await rendered(values)))
      problems.push(`${what}: ${describe(finding)}`);
  const defaults = await rendered({});
  for (const [text, fault, check] of PLANTED) {
    const found = await lint(linter, defaults.replaceAll(text, fault));
    if (!found.some(({ Check }) => Check === check))
      problems.push(`kube-linter did not find the planted fault ${fault.trim()} (${check})`);
  }
  return problems;
}

try {
  const reason = whyNoControlPlane();
  if (reason !== undefined) throw new CannotRun(reason);
  const linter = await findLinter();
  const problems = await problemsOf(linter);
  for (const problem of problems) console.error(problem);
  const sets = Object.keys(CHART_OPTIONS).length;
  if (problems.length === 0)
    console.log(
      `kube-linter: no findings in ${sets} sets of values, all ${PLANTED.length} planted faults found`,
    );
  process.exitCode = problems.length > 0 ? 1 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof CannotRun ? CANNOT_RUN : 1;
}
