import type { Manifest } from '../../core/manifest/manifest.ts';
import { tokenPriceOf } from '../../core/manifest/token-price.ts';
import { denyPathOf, packageOf } from '../../core/policy/package-name.ts';
import { policyConfigOf, rulesOf } from '../../core/policy/policy.ts';
import type { LoadedManifest } from '../../runtime/manifest-file.ts';
import type { CliContext } from '../context.ts';
import { done, failed, json, printable, type Rendered } from '../rendered.ts';
import { writePolicyDirectory } from '../policy-directory.ts';
import { painter, table } from '../table.ts';
import { problemLines, problemObjects } from './validate.ts';

export interface GeneratePolicyOptions {
  /** Output directory, as typed; absent: nothing is written. */
  out?: string;
  json: boolean;
}

/** `generate-policy <file>`: shows the policy rules of a manifest, or writes them to a directory for the policy engine. */
export async function generatePolicy(
  loaded: LoadedManifest,
  options: GeneratePolicyOptions,
  context: CliContext,
): Promise<Rendered> {
  if (!loaded.ok) {
    const body = { error: 'the manifest is not valid', problems: problemObjects(loaded) };
    return failed(problemLines(loaded), options.json ? json(body) : '');
  }
  const { manifest, file } = loaded;
  const { out } = options;
  const shown = (output: string, notes: readonly string[] = []): Rendered => ({
    ...done(output),
    errors: [...notes, ...notEnforceable(manifest)].map((note) => `${note}\n`).join(''),
  });
  if (out === undefined)
    return shown(options.json ? json(ruleSetOf(manifest)) : rulesText(manifest, file, context));
  const written = await writePolicyDirectory(manifest, out, context);
  if (!written.ok)
    return failed(`error: ${written.reason}\n`, options.json ? json({ error: written.reason }) : '');
  const output = options.json
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
  const rules = rulesOf(manifest);
  return {
    agentName: name,
    package: packageOf(name),
    denyPath: denyPathOf(name),
    rules: rules.map(({ rule: { reason, severity, field, deniesWhen } }) => ({
      reason,
      severity,
      field,
      deniesWhen,
    })),
    config: policyConfigOf(rules),
  };
}

function rulesText(manifest: Manifest, file: string, { color }: CliContext): string {
  const { name } = manifest.metadata;
  const rules = rulesOf(manifest);
  if (rules.length === 0)
    return `${name}: no policy rules: the manifest declares nothing that can be enforced\n`;
  const rows = rules.map(({ rule }) =>
    [rule.reason, rule.severity, rule.field, rule.deniesWhen].map((text) => ({ text })),
  );
  const count = `${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}`;
  return [
    `${name}: ${count}, package ${packageOf(name)}\n\n`,
    table(['REASON', 'SEVERITY', 'DECLARED AT', 'DENIES WHEN'], rows, painter(color)),
    `\nto write the rules for a policy engine: platform generate-policy ${shellWord(file)} --out <dir>\n`,
  ].join('');
}

function writtenText(files: readonly string[], out: string): string {
  const lines = files.map((file) => `wrote ${file}\n`).join('');
  return `${lines}next: opa run --server --ignore '.*' ${shellWord(out)}\n`;
}

/** Quotes a word for use in a shell if necessary. */
function shellWord(text: string): string {
  const shown = printable(text);
  return /^[\w@%+=:,./][\w@%+=:,./-]*$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}
