import { isRecord, jsonOf } from '../core/untrusted/fields.ts';
import { usageOf } from './response.ts';
import { withResponseFormat } from './prompts/response-format.ts';
import type { CliEnd } from './run-cli.ts';
import { failureOf, type Cli, type CliResponse } from './subscription.ts';

/** Claude Code. Its one-shot mode gets no tools and no MCP servers, and leaves no session behind. */
export const CLAUDE: Cli = {
  provider: 'claude-subscription',
  command: 'claude',
  product: 'Claude Code',
  help: ['--help'],
  required: [/^\s+auth\b/m, /--tools\b/, /--system-prompt\b/, /--output-format\b/],
  status: ['auth', 'status'],
  login: 'claude auth login',
  // Claude Code does not start inside another Claude Code session.
  hidden: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDECODE'],
  callOf: ({ system, prompt, schema: { schema }, maxTokens }, model, hasOption) => ({
    args: [
      '-p',
      ...['--output-format', 'json'],
      ...['--tools', ''],
      ...['--strict-mcp-config', '--no-session-persistence'].filter(hasOption),
      ...(hasOption('--json-schema') ? ['--json-schema', JSON.stringify(schema)] : []),
      ...(model === null ? [] : ['--model', model]),
      ...['--system-prompt', withResponseFormat(system, schema)],
    ],
    input: prompt,
    env: { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxTokens) },
  }),
  read: readResult,
};

/** Reads the object that `--output-format json` prints, or the last one of a list. */
function readResult(end: CliEnd): CliResponse {
  const printed = jsonOf(end.stdout);
  const result: unknown = Array.isArray(printed) ? printed.at(-1) : printed;
  if (!isRecord(result)) return { ok: false, reason: failureOf('claude', end) };
  const { result: text, structured_output: structured, subtype, stop_reason: reason } = result;
  if (result['is_error'] === true || subtype !== 'success') {
    const details = typeof text === 'string' && text !== '' ? text : String(subtype);
    return { ok: false, reason: `claude failed: ${details}` };
  }
  if (reason === 'refusal') return { ok: false, reason: 'the model refused the request' };
  if (reason === 'max_tokens') return { ok: false, reason: 'the response was cut at the token limit' };
  const response = isRecord(structured) ? JSON.stringify(structured) : text;
  if (typeof response !== 'string') return { ok: false, reason: 'claude printed a result without text' };
  const usage = isRecord(result['usage']) ? result['usage'] : {};
  const [model = null] = isRecord(result['modelUsage']) ? Object.keys(result['modelUsage']) : [];
  return { ok: true, text: response, model, usage: usageOf(usage['input_tokens'], usage['output_tokens']) };
}
