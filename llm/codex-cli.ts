import { isRecord, jsonOf } from '../core/untrusted/fields.ts';
import { usageOf } from './response.ts';
import { withResponseFormat } from './prompts/response-format.ts';
import type { CliEnd } from './run-cli.ts';
import { failureOf, type Cli, type CliResponse } from './subscription.ts';

/** Settings that switch off what a one-shot request does not need: commands, other agents, hooks, the web and project files. */
const WITHOUT_TOOLS = [
  ...['shell_tool', 'unified_exec', 'multi_agent', 'apps', 'hooks'].map(
    (feature) => `features.${feature}=false`,
  ),
  'web_search="disabled"',
  'project_doc_max_bytes=0',
];

/** Codex. Its one-shot mode can only read, and runs in an empty directory without the user's MCP servers. */
export const CODEX: Cli = {
  provider: 'codex-subscription',
  command: 'codex',
  product: 'Codex',
  help: ['exec', '--help'],
  required: [/--json\b/, /--sandbox\b/, /--skip-git-repo-check\b/],
  status: ['login', 'status'],
  login: 'codex login',
  hidden: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
  callOf({ system, prompt, schema: { schema } }, model, hasOption) {
    const isIsolated = hasOption('--ignore-user-config');
    // Without the user's settings, Codex has to look for the login in both places.
    const store = isIsolated ? ['cli_auth_credentials_store="auto"'] : [];
    return {
      args: [
        ...['exec', '--json', '--sandbox', 'read-only', '--skip-git-repo-check'],
        ...['--ephemeral'].filter(hasOption),
        ...(isIsolated ? ['--ignore-user-config'] : []),
        ...[...store, ...WITHOUT_TOOLS].flatMap((setting) => ['-c', setting]),
        ...(model === null ? [] : ['-m', model]),
        '-',
      ],
      input: `${withResponseFormat(system, schema)}\n\n${prompt}\n`,
    };
  },
  read: readEvents,
};

/** Reads the events that `--json` prints, one per line. The last message of the agent is the response. */
function readEvents(end: CliEnd): CliResponse {
  let text: string | null = null;
  let failure: string | null = null;
  let turn: Record<string, unknown> | null = null;
  for (const event of end.stdout.split('\n').map(jsonOf).filter(isRecord)) {
    const item = isRecord(event['item']) ? event['item'] : {};
    if (event['type'] === 'item.completed' && item['type'] === 'agent_message')
      text = typeof item['text'] === 'string' ? item['text'] : null;
    else if (event['type'] === 'turn.completed') turn = event;
    else if (event['type'] === 'turn.failed' || event['type'] === 'error')
      failure = messageOf(event) ?? failure;
  }
  if (turn === null || text === null)
    return { ok: false, reason: failure === null ? failureOf('codex', end) : `codex failed: ${failure}` };
  const usage = isRecord(turn['usage']) ? turn['usage'] : {};
  return { ok: true, text, model: null, usage: usageOf(usage['input_tokens'], usage['output_tokens']) };
}

function messageOf({ message, error }: Record<string, unknown>): string | null {
  const text = isRecord(error) ? error['message'] : message;
  return typeof text === 'string' ? text : null;
}
