import type { Manifest } from '../../core/manifest/manifest.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import { denyPathOf, egressPathOf, packageOf } from '../../core/policy/package-name.ts';
import { egressRulesOf, policyConfigOf, rulesOf } from '../../core/policy/policy.ts';
import type { BoundRule } from '../../core/policy/policy-rule.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { invalidManifest, load } from '../load.ts';
import { ManifestArgument } from '../manifest-argument.ts';
import { Alias, formatOption, jsonOption, type FormatFlags } from '../output-options.ts';
import { done, json, refusal, shellWord, type Rendered } from '../rendered.ts';
import { writePolicyDirectory } from '../policy-directory.ts';
import { painter, plural, table } from '../table.ts';

interface PolicyFlags extends FormatFlags {
  /** Output directory, as typed; absent: nothing is written. */
  output?: string;
}

export const addGeneratePolicy: AddCommand = (program, context, finish) => {
  program
    .command('generate-policy')
    .summary('generate policy engine rules from a manifest')
    .description(
      'Generates rules for Open Policy Agent from what a manifest declares: rules for the behavior that the agent reports (deny), and for its calls on the egress lanes of the sidecar (deny_egress). Without --output it prints a summary of the rules.',
    )
    .addArgument(new ManifestArgument())
    .option(
      '--output <dir>',
      'write policy.rego, data.json and policy_test.rego to a directory, which should contain nothing else',
    )
    .addOption(new Alias('--out <dir>', 'output'))
    .addOption(
      jsonOption(
        '{agentName, package, denyPath, rules[], config, egressDenyPath, egressRules[], egressConfig}; with --output also files[]',
      ),
    )
    .addOption(formatOption())
    .addHelpText('after', HELP)
    .action(async (file: string, flags: PolicyFlags) => finish(await generatePolicy(file, flags, context)));
};

const HELP = `
Examples:
  $ platform generate-policy
  $ platform generate-policy agent.yaml --output policy/my-agent
  $ opa test policy/my-agent
  $ opa run --server --ignore '.*' policy/my-agent policy/other-agent

The engine listens on localhost:8181; set POLICY_URL=http://localhost:8181 for the sidecar. For several agents on one
engine, list each directory, as above. Listing only the parent directory would change the paths of their data.
--ignore '.*' is needed for directories mounted from a ConfigMap. A new policy replaces an older policy of the same agent;
other files are not changed.

Exit codes: 0 printed or written; 1 the manifest is not valid, or nothing was written.`;

/** Shows the policy rules of a manifest, or writes them to a directory for the policy engine. */
async function generatePolicy(file: string, flags: PolicyFlags, context: CliContext): Promise<Rendered> {
  const loaded = await load(file, context);
  if (!loaded.ok) return invalidManifest(loaded, flags.json);
  const { manifest } = loaded;
  const { output: out } = flags;
  const shown = (output: string, notes: readonly string[] = []): Rendered => ({
    ...done(output),
    errors: [...notes, ...notEnforceable(manifest)].map((note) => `${note}\n`).join(''),
  });
  if (out === undefined)
    return shown(flags.json ? json(ruleSetOf(manifest)) : rulesText(manifest, file, context));
  const written = await writePolicyDirectory(manifest, out, context);
  if (!written.ok) return refusal(written.reason, flags.json);
  const output = flags.json
    ? json({ ...ruleSetOf(manifest), files: written.files })
    : writtenText(written.files, out);
  return shown(output, written.notes);
}

/** Notes on rules that can never deny because their input cannot be known. */
function notEnforceable(manifest: Manifest): string[] {
  const hasNoPrice =
    manifest.spec.model.costControls?.maxMonthlyUSD !== undefined && tokenPriceOf(manifest) === undefined;
  return hasNoPrice
    ? [
        'note: monthly_cost_limit_exceeded can never deny: the cost is unknown without spec.model.costControls.usdPerMillionTokens (input and output)',
      ]
    : [];
}

/** Output of `--json`. */
function ruleSetOf(manifest: Manifest): Record<string, unknown> {
  const { name } = manifest.metadata;
  const [rules, egressRules] = [rulesOf(manifest), egressRulesOf(manifest)];
  return {
    agentName: name,
    package: packageOf(name),
    denyPath: denyPathOf(name),
    rules: rules.map(shownRule),
    config: policyConfigOf(rules),
    egressDenyPath: egressPathOf(name),
    egressRules: egressRules.map(shownRule),
    egressConfig: policyConfigOf(egressRules),
  };
}

const shownRule = ({ rule: { reason, severity, field, deniesWhen } }: BoundRule<string>) => ({
  ...{ reason, severity, field, deniesWhen },
});

function rulesText(manifest: Manifest, file: string, { color }: CliContext): string {
  const { name } = manifest.metadata;
  const [rules, egressRules] = [rulesOf(manifest), egressRulesOf(manifest)];
  const tableOf = (shown: readonly BoundRule<string>[]): string => {
    const rows = shown.map(({ rule }) =>
      [rule.reason, rule.severity, rule.field, rule.deniesWhen].map((text) => ({ text })),
    );
    return `\n\n${table(['REASON', 'SEVERITY', 'DECLARED AT', 'DENIES WHEN'], rows, painter(color))}`;
  };
  return [
    `${name}: ${plural(rules.length, 'rule')}, package ${packageOf(name)}`,
    rules.length === 0 ? '\n' : tableOf(rules),
    `\ncalls on egress lanes: ${plural(egressRules.length, 'rule')}`,
    tableOf(egressRules),
    `\nto write the rules for a policy engine: platform generate-policy ${shellWord(file)} --output <dir>\n`,
  ].join('');
}

function writtenText(files: readonly string[], out: string): string {
  const lines = files.map((file) => `wrote ${file}\n`).join('');
  return `${lines}next: opa run --server --ignore '.*' ${shellWord(out)}\n`;
}
