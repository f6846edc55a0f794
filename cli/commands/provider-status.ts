import { providerOverview, type ProviderOverview, type ProviderStatus } from '../../llm/select-provider.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { printable, reported, type Rendered } from '../rendered.ts';
import { painter, table, type Cell } from '../table.ts';

export const addProviderStatus: AddCommand = (program, context, finish) => {
  program
    .command('provider-status')
    .summary('show which LLM providers are ready')
    .description(
      'Shows for each LLM provider whether it is ready, and which one the commands that need an LLM use. Makes no request to a model, so keys are not tested.',
    )
    .addOption(jsonOption('{selected, providers[]{name, ready, model, reason, remedy}}'))
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addHelpText('after', HELP)
    .action(async (flags: FormatFlags) => finish(await providerStatus(flags, context)));
};

const HELP = `
Examples:
  $ platform provider-status
  $ platform provider-status --json
  $ PLATFORM_CODEGEN_PROVIDER=openai-api platform provider-status

Providers in the order of the selection:
  claude-subscription  login of the command claude (claude auth login)
  codex-subscription   login of the command codex (codex login)
  anthropic-api        ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  openai-api           OPENAI_API_KEY, OPENAI_BASE_URL
  openai-compatible    PLATFORM_LLM_API_KEY, PLATFORM_LLM_MODEL, PLATFORM_LLM_BASE_URL

PLATFORM_CODEGEN_PROVIDER selects one by its name. If that one cannot be used, an error is printed, also with exit
code 0. Without PLATFORM_LLM_API_KEY, PLATFORM_LLM_MODEL replaces the default model of the selected provider.

Exit codes: 0 at least one provider is ready; 1 none.`;

async function providerStatus(flags: FormatFlags, context: CliContext): Promise<Rendered> {
  const overview = await providerOverview(context.env);
  const exitCode = overview.statuses.some(({ ready }) => ready) ? 0 : 1;
  return {
    ...reported(flags, statusObject(overview), statusText(overview, context), exitCode),
    errors: overview.problem === null ? '' : `error: ${printable(overview.problem)}\n`,
  };
}

function statusObject({ statuses, selected }: ProviderOverview): object {
  const providers = statuses.map((status) => {
    const { name, ready } = status;
    return status.ready
      ? { name, ready, model: status.provider.model }
      : { name, ready, reason: status.reason, remedy: status.remedy };
  });
  return { selected, providers };
}

function statusText({ statuses, selected }: ProviderOverview, { color }: CliContext): string {
  const paint = painter(color);
  const rows = statuses.map((status): Cell[] => [
    { text: status.name === selected ? '*' : ' ' },
    { text: status.name },
    status.ready ? { text: 'ready', style: 'green' } : { text: 'not ready', style: 'yellow' },
    { text: printable(detailsOf(status)) },
  ]);
  const used = selected === null ? 'No provider is selected.' : `* ${selected} is selected.`;
  return `${table([' ', 'PROVIDER', 'STATUS', 'DETAILS'], rows, paint)}\n${used}\n`;
}

function detailsOf(status: ProviderStatus): string {
  if (!status.ready) return `${status.reason}. ${status.remedy}`;
  const { model } = status.provider;
  return model === null ? 'default model of the command' : `model ${model}`;
}
