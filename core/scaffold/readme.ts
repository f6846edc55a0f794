import { declaredVariables } from '../facts/declared.ts';
import { modelVendorOf } from '../facts/model-vendors.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { FrameworkProject } from './framework-projects.ts';
import { notGenerated } from './not-generated.ts';

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
    reporter: `The package \`agent-compliance\` has the reporter. While it is not published, copy its archive into this directory
and run \`npm install ./agent-compliance-<version>.tgz\` first.`,
  },
} as const;

/** The README of a project. Names of the manifest are in it only where their format excludes Markdown. */
export function readmeOf(manifest: Manifest, { title, language }: FrameworkProject, port: number): string {
  const text = LANGUAGES[language];
  const missing = notGenerated(manifest);
  return `# ${manifest.metadata.name}

An agent with ${title} that serves what \`agent.yaml\` declares. \`platform generate\` wrote this project. With \`--force\` it
replaces changed files, so keep them in version control.

## Start

You need ${text.needs}.

\`\`\`sh
${text.start}
\`\`\`

${variablesOf(manifest)}

The agent listens on port ${port}, or on \`PORT\`. Send it a question, directly or through the sidecar's port 4000:

\`\`\`sh
curl -s localhost:${port}${chatPathOf(manifest)} -H 'content-type: application/json' -d '{"message": "Hello"}'
\`\`\`

The body can also have \`messages\` in the form of OpenAI.

## Change

- \`${text.tools}/\` has one file per tool. The function gets one text and returns a result for the model. It runs ${text.isolation},
  for at most 30 seconds. Code that a model wrote is marked: review it before use.
- \`${text.tools}/tools.json\` maps the tools of the manifest to their files. Add an entry for a new tool.
- A tool with \`destructiveHint: true\` runs only if the client sends \`"confirmed": true\`. The agent reports the confirmation.
- \`${text.guardrails}\` has a simple detector for each type of guardrail. Replace them by detectors that fit your agent. Each
  guardrail reports itself for every request.
- \`${text.agent}\` has the agent. It calls the model through an API that is compatible with OpenAI.

${text.reporter}
${missing.length === 0 ? '' : `\n## Not generated\n\nThe manifest also declares these parts, which the project does not implement:\n\n${missing.map((path) => `- \`${path}\``).join('\n')}\n`}`;
}

function variablesOf(manifest: Manifest): string {
  const { variable } = modelVendorOf(manifest.spec.model.provider);
  const declared = [...declaredVariables(manifest).keys()].map((name) => `- \`${name}\``);
  const address = `- \`${variable}\`: another address of the model's API (optional)`;
  return `Environment variables:\n\n${[...declared, address].join('\n')}`;
}

/** A declared path only if it is plain text in a shell and in Markdown. */
function chatPathOf({ spec }: Manifest): string {
  const declared = spec.api?.chatEndpoint?.path ?? '/v1/chat';
  return /^\/[\w./-]*$/.test(declared) ? declared : '/CHAT_PATH';
}
