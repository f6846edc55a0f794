import type { Manifest } from '../../core/manifest/manifest.ts';
import { RESPONSE_SCHEMA } from '../../authoring/scaffold/written-code.ts';
import { cut } from '../../core/untrusted/fields.ts';
import { DATA_RULE, delimited } from '../delimited.ts';
import type { CompletionRequest } from '../provider.ts';

/** Tools beyond this number stay stubs, because their code would not fit into one response. */
const MAX_TOOLS = 40;
const MAX_TEXT = 1000;
const [BASE_TOKENS, TOKENS_PER_TOOL, MAX_TOKENS] = [3000, 1000, 16_000];

const LANGUAGES = {
  python: `The body is that of this Python 3.11 function:

def run(text: str) -> object:

It may import only base64, collections, datetime, decimal, difflib, fractions, functools, hashlib, hmac, html, httpx, itertools,
json, math, operator, os, random, re, statistics, string, textwrap, time, typing, unicodedata, urllib, uuid and zoneinfo, with
"import" inside the body. Of os it may use only os.environ and os.getenv. It has no async, await, yield or global, no open, eval
or getattr, and no names with two underscores.`,
  typescript: `The body is that of this async JavaScript function, without type annotations:

export async function run(text) {

It may use await, fetch and process.env. It has no import, require or eval.`,
} as const;

const NEW_PROMPT =
  'at most 300 words, for the described agent. It tells the agent its purpose, its limits and when to use which tool.';
const NO_PROMPT = 'always "". The agent has a system prompt.';

const systemText = (
  language: keyof typeof LANGUAGES,
  writesPrompt: boolean,
): string => `You write parts of an AI agent: its system prompt, and the body of one function for each of its tools. Answer with one JSON object:
{"systemPrompt": "...", "tools": [{"name": "...", "body": "..."}]}

systemPrompt: ${writesPrompt ? NEW_PROMPT : NO_PROMPT}

tools: one entry per tool, with the name as given. ${LANGUAGES[language]}

text is what a model passes to the tool: plain text, or JSON with the arguments that the tool needs. Check it, and return a short text
for the model, also for invalid arguments. Return only the body, without the line of the function and without indentation. Take
addresses and keys from environment variables. If a tool needs a system that you do not know, call an HTTP address from an
environment variable with a fitting name. Use an empty body if you cannot write the tool. Set a timeout for each network call.

${DATA_RULE}`;

/** Asks for the tools of an agent project, and for its system prompt if the user has none. */
export function frameworkCodeRequest(
  manifest: Manifest,
  language: keyof typeof LANGUAGES,
  writesPrompt: boolean,
): CompletionRequest {
  const { metadata, spec } = manifest;
  const tools = (spec.tools ?? []).slice(0, MAX_TOOLS).map(({ name, description, annotations }) => ({
    name: cut(name, MAX_TEXT),
    description: cut(description ?? '', MAX_TEXT),
    ...annotations,
  }));
  const agent = { name: metadata.name, description: cut(metadata.description, MAX_TEXT), tools };
  return {
    system: systemText(language, writesPrompt),
    prompt: `Write ${writesPrompt ? 'the system prompt and ' : ''}the tools of this agent.\n\n${delimited('agent', JSON.stringify(agent, null, 1))}`,
    schema: { name: 'agent_code', schema: RESPONSE_SCHEMA },
    maxTokens: Math.min(MAX_TOKENS, BASE_TOKENS + TOKENS_PER_TOOL * tools.length),
  };
}
