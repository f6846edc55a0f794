import { CHECK_GROUPS } from '../core/diagnosis/check-report.ts';

/** `docs/reference/checks.md`. */
export function checksReferencePage(): string {
  return `# Checks of a cluster

<!-- Made by scripts/generate.ts from the tables in core/diagnosis/. Do not edit. -->

[\`platform check\`](cli.md#platform-check) looks at these. It changes nothing: pods are tried as dry runs, processes are
asked through the API server. A finding has a code, a severity, what is wrong and what to do.

- An **error** is something that does not work, or is not guarded; it makes the exit code 1. A **warning** is something
  that will not work for long, or that somebody meant to be weaker; with \`--fail-on warning\` it counts too.
- What could not be looked at is **unknown**: the finding names the right that lacks, and counts by the severity of its
  check. No check passes that has not looked.

\`-o json\` prints \`{version, server, kubernetes, release, findings[], passed[]}\`; a finding is \`{code, severity, status,
subject, message, hint, docs}\`, with \`status\` \`found\` or \`unknown\`. Members are added, never changed, while \`version\` is 1.

${CHECK_GROUPS.map(groupText).join('\n')}`;
}

function groupText({ title, about, rules }: (typeof CHECK_GROUPS)[number]): string {
  const rows = rules.map(
    ({ code, severity, when, remediation }) => `### ${code}\n\n**${severity}**, when ${when}.\n\n${remediation}\n`,
  );
  return [`## ${title}\n`, `${about}\n`, ...rows].join('\n');
}
