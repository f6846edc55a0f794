import { AGENT_RULES } from './agent-rules.ts';
import { CLUSTER_RULES, INSTALL_RULES } from './cluster-rules.ts';
import type { ClusterFacts, Fact, InstallFacts, InstalledFacts, ReleaseFacts } from './facts.ts';
import { INJECTOR_RULES } from './injector-rules.ts';
import { RELEASE_RULES } from './release-rules.ts';
import { findingsOf, judged, type CheckFinding, type CheckRule } from './rule.ts';
import { WORKLOAD_RULES } from './workload-rules.ts';

/** The check for the installation itself. */
const FIND_RULES: readonly CheckRule<{ namespace: string; elsewhere: Fact<readonly string[]> }>[] = [
  {
    code: 'release-missing',
    severity: 'error',
    when: 'the namespace has no Deployment of the chart; all checks of the installation are then skipped',
    remediation: 'Install the chart, or set the namespace and the release name with `-n` and `--release`.',
    evaluate: ({ namespace, elsewhere }) =>
      judged(elsewhere, ([other]) => ({
        subject: `Namespace ${namespace}`,
        message: `the product is not installed in ${namespace}`,
        hint:
          other === undefined
            ? `helm install agent-compliance <chart> -n ${namespace} --create-namespace`
            : `a release may be installed in ${other}: platform check -n ${other}`,
      })),
  },
];

/** One heading of docs/reference/checks.md. */
export const CHECK_GROUPS: readonly { title: string; about: string; rules: readonly RuleText[] }[] = [
  { title: 'The cluster', about: 'Checked in every run.', rules: CLUSTER_RULES },
  { title: 'Before an installation', about: 'Checked only with `--pre`.', rules: INSTALL_RULES },
  { title: 'The release', about: 'Checked without `--pre`.', rules: [...FIND_RULES, ...RELEASE_RULES] },
  { title: 'Injection and guard', about: 'Checked without `--pre`.', rules: INJECTOR_RULES },
  {
    title: 'Agents',
    about: 'Checked without `--pre`, in every namespace.',
    rules: [...WORKLOAD_RULES, ...AGENT_RULES],
  },
];

type RuleText = Pick<CheckRule<never>, 'code' | 'severity' | 'when' | 'remediation'>;

/** The gathered facts, by the stage that the gathering reached. */
export type CheckInput =
  | { stage: 'pre'; facts: InstallFacts }
  /** `elsewhere`: namespaces that a webhook configuration of the product points to; unknown: a release may exist. */
  | { stage: 'missing'; facts: ClusterFacts; namespace: string; elsewhere: Fact<readonly string[]> }
  | { stage: 'installed'; facts: InstalledFacts };

/** The JSON of `platform check --json`; members are added, never changed, within a `version`. */
export interface CheckReport {
  version: 1;
  /** The API server. */
  server: string;
  kubernetes: string | null;
  release: ReleaseFacts | null;
  /** Errors first. */
  findings: CheckFinding[];
  /** Codes of the checks without findings. */
  passed: string[];
}

export function checkReport(server: string, input: CheckInput): CheckReport {
  const checks = [...run(CLUSTER_RULES, input.facts), ...checksOf(input)];
  const { version } = input.facts;
  return {
    version: 1,
    server,
    kubernetes: version.known ? version.value : null,
    release: input.stage === 'installed' ? input.facts.release : null,
    findings: checks.flatMap(({ findings }) => findings).sort((a, b) => rankOf(a) - rankOf(b)),
    passed: checks.filter(({ findings }) => findings.length === 0).map(({ code }) => code),
  };
}

/** The findings of each check of a table, in order. */
function run<F>(rules: readonly CheckRule<F>[], facts: F): { code: string; findings: CheckFinding[] }[] {
  return rules.map((rule) => ({ code: rule.code, findings: findingsOf(rule, facts) }));
}

function checksOf(input: CheckInput): ReturnType<typeof run> {
  switch (input.stage) {
    case 'pre':
      return run(INSTALL_RULES, input.facts);
    case 'missing':
      return run(FIND_RULES, input);
    case 'installed':
      return [
        ...FIND_RULES.map(({ code }) => ({ code, findings: [] })),
        ...run([...RELEASE_RULES, ...INJECTOR_RULES, ...WORKLOAD_RULES, ...AGENT_RULES], input.facts),
      ];
  }
}

function rankOf({ severity, status }: CheckFinding): number {
  return (severity === 'error' ? 0 : 2) + (status === 'found' ? 0 : 1);
}
