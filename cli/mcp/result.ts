import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { cut, isRecord } from '../../core/untrusted/fields.ts';
import { printable } from '../rendered.ts';
import type { Outcome, Tool } from './tool.ts';

/** Characters of one text and of a whole result: models read results as a whole. */
export const LIMITS = { text: 2_048, result: 40_000 } as const;
/** Longest lists that are tried until a result fits. */
const LIST_LENGTHS = [500, 100, 30, 10, 3, 1];
/** Shorter secrets are never valid keys, and replacing them could destroy a text. */
const MIN_SECRET = 8;

/** The result of a call: structured content and the same as text, bounded and without the secrets. */
export function resultOf(tool: Tool, outcome: Outcome, secrets: readonly string[]): CallToolResult {
  const clean = cleaner(secrets);
  if (!outcome.ok) return failed(clean(outcome.reason));
  const parsed = tool.output.safeParse(outcome.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return failed(
      clean(
        `the response is not valid: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}; check that the URL is the control port of a sidecar, or a control plane`,
      ),
    );
  }
  const structuredContent = bounded(parsed.data, clean);
  return { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}

function failed(reason: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `error: ${reason}` }] };
}

type Clean = (text: string) => string;

/** Characters that are invisible, but that a model reads. */
const INVISIBLE = /[\u{e0000}-\u{e007f}]/gu;

/** Removes the secrets, and characters that hide text; cuts long texts. */
function cleaner(secrets: readonly string[]): Clean {
  const found = secrets.map((secret) => secret.trim()).filter(({ length }) => length >= MIN_SECRET);
  return (text) => {
    const open = found.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
    const lines = open.split('\n').map((line) => printable(line).replaceAll(INVISIBLE, '\ufffd'));
    return cut(lines.join('\n'), LIMITS.text);
  };
}

/** Shortens lists until the object fits; names the shortened lists in `omitted`. */
function bounded(value: Record<string, unknown>, clean: Clean): Record<string, unknown> {
  let result: Record<string, unknown> = {};
  for (const entries of LIST_LENGTHS) {
    const omitted: string[] = [];
    const shortened = shorten(value, '', { entries, clean, omitted });
    result = { ...(isRecord(shortened) ? shortened : {}), ...(omitted.length > 0 && { omitted }) };
    if (JSON.stringify(result).length <= LIMITS.result) break;
  }
  return result;
}

interface Shortening {
  entries: number;
  clean: Clean;
  omitted: string[];
}

function shorten(value: unknown, path: string, shortening: Shortening): unknown {
  const { entries, clean, omitted } = shortening;
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) {
    if (value.length > entries) omitted.push(`${path}: ${value.length - entries} of ${value.length} entries`);
    return value.slice(0, entries).map((each, index) => shorten(each, `${path}[${index}]`, shortening));
  }
  if (!isRecord(value)) return value;
  const inner = (key: string) => (path === '' ? key : `${path}.${key}`);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, shorten(each, inner(key), shortening)]),
  );
}
