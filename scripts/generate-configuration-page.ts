import { CONTROL_PLANE_FIELDS, CONTROL_PLANE_SUMMARIES } from '../control-plane/config.ts';
import { OPERATOR_FIELDS, OPERATOR_SUMMARIES } from '../operator/config.ts';
import type { EnvField, Summaries } from '../runtime/env.ts';
import { COMBINATIONS, SIDECAR_FIELDS, SIDECAR_SUMMARIES } from '../sidecar/config.ts';
import { WEBHOOK_FIELDS, WEBHOOK_SUMMARIES } from '../webhook/config.ts';
import { markdownTable } from './markdown-table.ts';

const INTRODUCTION = `# Configuration

<!-- Made by scripts/generate.ts from the config.ts of each process. Do not edit. -->

The environment is the only configuration of a process. A wrong value stops the start with exit code 1; all problems are
named at once, each with the variable, its value (of a secret never) and what is accepted. An empty value counts as unset.
In a cluster the chart sets the variables of the operator, the webhook and the control plane, and the injector those of
the sidecar.
`;

const OTHERS = `
## Reporter and command line

The reporter reads \`PLATFORM_URL\`, \`PLATFORM_KEY\`, \`PLATFORM_KEY_STORE_PATH\`, \`PLATFORM_TOKEN_FILE\`, \`PLATFORM_CA_FILE\` and \`HEARTBEAT_SECONDS\` with the
meanings that they have for the sidecar, where it is given no \`push\` option. It and \`platform health\` look \`$env:\`
references up in their own environment, \`$secret:\` references in \`PLATFORM_SECRET_DIR\` or \`PLATFORM_SECRET_<NAME>\`, and ask a
model's provider at \`<PROVIDER>_BASE_URL\`, such as \`OPENAI_BASE_URL\`, where that is set (for \`azure\`:
\`AZURE_OPENAI_ENDPOINT\`).
`;

/** `docs/reference/configuration.md`. */
export function configurationReferencePage(): string {
  return [
    INTRODUCTION,
    section('Sidecar', SIDECAR_FIELDS, SIDECAR_SUMMARIES),
    combinations(),
    section('Control plane', CONTROL_PLANE_FIELDS, CONTROL_PLANE_SUMMARIES),
    section('Operator', OPERATOR_FIELDS, OPERATOR_SUMMARIES),
    section('Webhook', WEBHOOK_FIELDS, WEBHOOK_SUMMARIES),
    OTHERS,
  ].join('');
}

function section<F extends Readonly<Record<string, EnvField<unknown>>>>(
  title: string,
  fields: F,
  summaries: Summaries<F>,
): string {
  const rows = Object.entries(fields).map(([name, { wanted }]) => [
    `\`${name}\``,
    wanted,
    summaries[name as keyof F],
  ]);
  return `\n## ${title}\n\n${markdownTable(['Variable', 'Accepted', 'Meaning'], rows)}`;
}

function combinations(): string {
  const lines = COMBINATIONS.map(({ name, wanted }) => `- \`${name}\` must be ${wanted}.\n`);
  return `\nTogether:\n\n${lines.join('')}`;
}
