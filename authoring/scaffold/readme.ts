import { declaredVariables, secretVariables } from '../../core/facts/declared.ts';
import { modelVendorOf } from '../../core/vendors/vendors.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { FrameworkProject } from './framework-projects.ts';
import { notGenerated } from './not-generated.ts';
import { unknownPersonalFields } from './personal-fields.ts';

/** What differs between the languages. */
const LANGUAGES = {
  python: {
    start: `python3 -m venv .venv
.venv/bin/pip install -r requirements.txt
.venv/bin/python -m unittest
.venv/bin/python main.py`,
    needs: 'Python 3.11, 3.12 or 3.13',
    tools: 'app/tools',
    guardrails: 'app/guardrails.py',
    agent: 'app/framework.py',
    isolation: 'in a thread',
    checked: `Its strings, brackets and indentation are complete, it imports only listed modules, and it has no
  name such as \`eval\`. It was not compiled, so it can have syntax errors: \`python -m unittest\` finds them`,
    reporter: `\`platform_reporter/\` is the reporter for Python: health checks, token usage, behavioral headers and events. It
checks services, memory and MCP servers by a TCP connection.`,
  },
  typescript: {
    start: `npm install
npm test
npm run typecheck
npm start`,
    needs: 'Node.js 24',
    tools: 'src/tools',
    guardrails: 'src/guardrails.ts',
    agent: 'src/agent.ts',
    isolation: 'in a worker thread of its own',
    checked: 'It compiles, and it has no word such as `import` or `eval`',
    reporter: `The package \`agent-compliance\` has the reporter. While it is not published, copy its archive into this directory
and run \`npm install ./agent-compliance-<version>.tgz\` first.`,
  },
} as const;

/** The README of a project. Names of the manifest are in it only where their format excludes Markdown. */
export function readmeOf(
  manifest: Manifest,
  { title, language }: FrameworkProject,
  { port, toolVariables }: { port: number; toolVariables: readonly string[] },
): string {
  const text = LANGUAGES[language];
  const missing = notGenerated(manifest);
  return `# ${manifest.metadata.name}

An agent with ${title} that serves what \`agent.yaml\` declares. \`platform generate\` wrote this project. With \`--force\` it
replaces changed files, so keep them in version control. It keeps a system prompt that a model wrote, and \`.gitignore\`.

## Start

You need ${text.needs}.

\`\`\`sh
${text.start}
\`\`\`

${variablesOf(manifest, toolVariables)}

The agent listens on port ${port}, or on \`PORT\`. Send it a question, directly or through the sidecar's port 4000:

\`\`\`sh
curl -s localhost:${port}${chatPathOf(manifest)} -H 'content-type: application/json' -d '{"message": "Hello"}'
\`\`\`

The body can also have \`messages\` in the form of OpenAI.

## Build the image and start the sidecar

\`\`\`sh
docker build -t ${manifest.metadata.name} .
docker network create agents
docker run -d --name agent --network agents --env-file <file with the variables> ${manifest.metadata.name}
docker run -d --name sidecar --network agents -p 4000:4000 -p 127.0.0.1:4001:4001 -v "$PWD/agent.yaml:/manifest/agent.yaml:ro" \\
  -e MANIFEST_PATH=/manifest/agent.yaml -e UPSTREAM_URL=http://agent:${port} -e CONTROL_ACCESS=any <image of the sidecar>
curl -s localhost:4001/gap
\`\`\`

Clients use port 4000. \`platform generate agent.yaml --deploy k8s\` writes files with both containers for Kubernetes.

## Change

- \`${text.tools}/\` has one file per tool. The function gets one text and returns a result for the model. It runs ${text.isolation},
  for at most 30 seconds. Code that a model wrote is marked. ${text.checked}.
  These checks are no sandbox: review the code before use. It runs with the permissions of the agent.
- \`${text.tools}/tools.json\` maps the tools of the manifest to their files. Add an entry for a new tool.
- A tool with \`destructiveHint: true\` runs only if the client sends \`"confirmed": true\`. The agent reports the confirmation.
- \`${text.guardrails}\` has a simple detector for each type of guardrail. Replace them by detectors that fit your agent. Each
  guardrail reports itself for every request.${personalFields(manifest)}
- \`${text.agent}\` has the agent. It calls the model through an API that is compatible with OpenAI.

${text.reporter}
${missing.length === 0 ? '' : `\n## Not generated\n\nThe manifest also declares these parts, which the project does not implement:\n\n${missing.map((path) => `- \`${path}\``).join('\n')}\n`}`;
}

function variablesOf(manifest: Manifest, toolVariables: readonly string[]): string {
  const { vendor, variable } = modelVendorOf(manifest.spec.model.provider);
  const isKnown = vendor.baseUrl !== null && vendor.openAiPath !== null;
  const declared = [...declaredVariables(manifest).keys()].filter((name) => name !== variable);
  const secrets = [...secretVariables(manifest).keys()].filter((name) => !declared.includes(name));
  const known = new Set([...declared, ...secrets, variable]);
  const lines = [
    ...declared.map((name) => `- \`${name}\``),
    ...secrets.map((name) => `- \`${name}\`: a secret`),
    ...(secrets.length > 0
      ? [
          '- `PLATFORM_SECRET_DIR`: a directory with one file per secret, instead of the variables of the secrets (optional)',
        ]
      : []),
    isKnown
      ? `- \`${variable}\`: another address of the model's API (optional)`
      : `- \`${variable}\`: the address of the model's API (required)`,
    ...toolVariables
      .filter((name) => !known.has(name))
      .map((name) => `- \`${name}\`: read by a tool that a model wrote`),
  ];
  return `Environment variables:\n\n${lines.join('\n')}`;
}

function personalFields(manifest: Manifest): string {
  const unknown = unknownPersonalFields(manifest);
  if (unknown.length === 0) return '';
  const shown = unknown.filter((field) => /^[\w.-]{1,100}$/.test(field)).map((field) => `\`${field}\``);
  if (shown.length < unknown.length) shown.push(`${unknown.length - shown.length} with other characters`);
  return `\n  \`pii-detector\` has no pattern for these declared fields: ${shown.join(', ')}.`;
}

/** A declared path only if it is plain text in a shell and in Markdown. */
function chatPathOf({ spec }: Manifest): string {
  const declared = spec.api?.chatEndpoint?.path ?? '/v1/chat';
  return /^\/[\w./-]*$/.test(declared) ? declared : '/CHAT_PATH';
}
