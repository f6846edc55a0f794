import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Form, FormResult, RowResult } from '../testing/frameworks/row.ts';
import { ROWS } from '../testing/frameworks/rows.ts';
import { markdownTable } from './markdown-table.ts';

const RESULTS = join(import.meta.dirname, '../testing/frameworks/results.json');

/** `docs/guide/clients.md`. */
export function clientsPage(): string {
  const results = JSON.parse(readFileSync(RESULTS, 'utf8')) as RowResult[];
  return `# Clients and frameworks

<!-- Made by scripts/generate.ts from testing/frameworks/results.json. Do not edit. -->

This page is for developers of agents and of clients. It shows for ${results.length} clients and frameworks what a sidecar in
front of the agent changes, which tokens it records, and how a denied response looks in their code.

The rows are the result of a run: real packages, the built sidecar with \`POLICY_PROXY_MODE=enforce\`, and a model vendor
with OpenAI's and Anthropic's protocols that knows how many tokens it used. The model asks for a tool twice before it answers,
so one response of an agent takes up to three calls. \`make test\` runs six of the rows, \`make soak\` all of them; a run
that shows anything else than this page fails. \`node scripts/framework-matrix.ts && npm run generate\` renews the page.

## Overview

${overview(results)}
- **Bytes**: every request and response is the same on both sides of the sidecar, and the client gets what it gets without one.
- **Tokens**: forms of responses whose tokens are recorded exactly. The others state no tokens ([below](#tokens)).
- **Cancel**: the client leaves while the model writes. The sidecar closes the connection to the agent. Where only "agent" is
  listed, the framework does not end its call of the model at once, with or without a sidecar.
- **Denial**: requests that a denied response takes. More than one: the framework tries again.

## Tokens

What one response of each form used, and what the sidecar recorded of it in \`GET /audit\` and \`GET /usage\`. A response on
\`spec.api.chatEndpoint.path\` that states no tokens counts in \`callsWithoutUsage\`: once, however many calls of the model are
behind it. Events of the type \`model\` ([how](agent.md)) count instead of it.

${tokens(results)}
For an agent with \`spec.api.type: mcp\` each result of a tool that states no tokens counts the same way. The handshake, lists
and notifications of MCP do not count.

## Denials

A denied response is a 403 with the body \`{"error": "PolicyViolation", …}\` and the header \`X-Platform-Policy-Violations\`
([what is denied](enforcement.md)). Clients show it as one of their own errors. For frameworks the table shows what they
raise when the model that they call is behind a sidecar that denies.

${denials(results)}
Where the message does not have the broken rule, the header does: in Python \`error.response.headers\`, in JavaScript
\`error.headers\` (\`error.responseHeaders\` of the AI SDK). A cause is found by \`__cause__\` or \`__context__\` in Python, by
\`exceptions\` in a group of exceptions, and by \`cause\` in JavaScript.

${messages(results)}`;
}

const codes = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

function overview(results: readonly RowResult[]): string {
  const rows = results.map(({ name, versions, forms, cancel, denial }) => {
    const exact = forms.filter(({ tokens }) => tokens === 'exact').length;
    return [
      ...[
        name,
        Object.entries(versions)
          .map(([each, version]) => `${each} ${version}`)
          .join(', '),
      ],
      ...['identical', exact === forms.length ? `exact (${exact})` : `exact (${exact} of ${forms.length})`],
      cancel.endsModelCall ? 'agent, model' : 'agent',
      `raised, ${denial.attempts === 1 ? '1 request' : `${denial.attempts} requests`}`,
    ];
  });
  return markdownTable(['Client or framework', 'Version', 'Bytes', 'Tokens', 'Cancel', 'Denial'], rows);
}

function tokens(results: readonly RowResult[]): string {
  const rows = results.flatMap(({ name, forms }) => forms.map((form) => [name, ...formCells(form, name)]));
  const head = ['Client or framework', 'Form', 'Calls', 'Tokens', 'Recorded', 'Without usage', 'Instead'];
  return markdownTable(head, rows);
}

function formCells({ name, vendor, recorded }: FormResult, row: string): string[] {
  const form: Form | undefined = ROWS.find((each) => each.name === row)?.forms.find(
    (each) => each.name === name,
  );
  const numbers = [vendor.calls, vendor.tokens, recorded.tokens, recorded.callsWithoutUsage];
  return [name, ...numbers.map(String), form?.instead ?? ''];
}

function denials(results: readonly RowResult[]): string {
  const rows = results.map(({ name, denial: { errors } }) => {
    const [outer] = errors;
    const at = errors.findIndex(({ reasonAt }) => reasonAt !== null);
    const said = errors.findIndex(({ message }) => message.includes('pii_detector_not_invoked'));
    const header = at < 0 ? 'no' : `\`${errors[at]?.reasonAt}\`${at === 0 ? '' : ' of a cause'}`;
    const status = errors.find((error) => error.status !== null)?.status ?? null;
    return [
      ...[name, codes([outer?.type ?? '']), status === null ? 'no' : String(status)],
      ...[said < 0 ? 'no' : said === 0 ? 'yes' : 'of a cause', header],
    ];
  });
  const head = ['Client or framework', 'Error', 'Status', 'Rule in the message', 'Rule in the header'];
  return markdownTable(head, rows);
}

/** Each message once, with the errors that have it. */
function messages(results: readonly RowResult[]): string {
  const byMessage = new Map<string, Set<string>>();
  for (const { denial } of results) {
    const [{ type, message } = { type: '', message: '' }] = denial.errors;
    byMessage.set(message, (byMessage.get(message) ?? new Set()).add(type));
  }
  const rows = [...byMessage].map(([message, types]) => [
    codes([...types]),
    `\`${message.replaceAll('\n', ' ')}\``,
  ]);
  return markdownTable(['Error', 'Message'], rows);
}
