import type { Tool } from '../../core/manifest/manifest.ts';
import { quoted } from '../../core/manifest/wording.ts';
import type { WrittenCode } from './written-code.ts';
import { indented, unusable, type Body } from './body-text.ts';
import type { GeneratedFile } from './generated-file.ts';
import { javascriptBody, javascriptVariables } from './javascript-body.ts';
import { pythonBody, pythonVariables } from './python-body.ts';
import { toolEntries } from './tool-entries.ts';

/** How the file of a tool is written in one language. Only checked code and no text of the manifest is in it. */
interface ToolLanguage {
  folder: string;
  extension: string;
  check: (text: string) => Body;
  variables: (code: string) => string[];
  stub: string;
  file: (code: string) => string;
}

const REVIEW = 'A model wrote this body. Review it before use: it runs with the permissions of the agent.';

const LANGUAGES: Readonly<Record<'python' | 'typescript', ToolLanguage>> = {
  python: {
    folder: 'app/tools',
    extension: 'py',
    check: pythonBody,
    variables: pythonVariables,
    stub: pythonFile(
      '"""A tool of the agent. tools.json has its name in the manifest."""',
      'raise NotImplementedError',
    ),
    file: (code) => pythonFile(`# ${REVIEW}`, code),
  },
  typescript: {
    folder: 'src/tools',
    extension: 'ts',
    check: javascriptBody,
    variables: javascriptVariables,
    stub: typescriptFile(
      '// A tool of the agent. tools.json has its name in the manifest.',
      "throw new Error('not implemented');",
    ),
    file: (code) => typescriptFile(`// @ts-nocheck -- JavaScript without types.\n// ${REVIEW}`, code),
  },
};

function pythonFile(head: string, code: string): string {
  return `${head}


def run(text: str) -> object:
    """\`text\` is what the model passes, plain text or JSON. The result is for the model."""
${indented(code, '    ')}
`;
}

function typescriptFile(head: string, code: string): string {
  return `${head}

/** \`text\` is what the model passes, plain text or JSON. The result is for the model. */
export async function run(text: string): Promise<unknown> {
${indented(code, '  ')}
}
`;
}

/** Also the variables that the code of the model reads, and a note for each tool that stays a stub. */
interface ToolFiles {
  files: GeneratedFile[];
  variables: string[];
  notes: string[];
}

/** A file for each declared tool and the list of the tools. */
export function toolFiles(
  tools: readonly Tool[],
  written: WrittenCode,
  language: 'python' | 'typescript',
): ToolFiles {
  const { folder, extension, check, variables, stub, file } = LANGUAGES[language];
  const read = new Set<string>();
  const entries = toolEntries(tools);
  const notes: string[] = [];
  const files = entries.map(({ name, module }): GeneratedFile => {
    const path = `${folder}/${module}.${extension}`;
    const text = written.bodies.get(name);
    const body: Body = text === undefined ? unusable('the model wrote no code') : check(text);
    if (body.ok) for (const variable of variables(body.code)) read.add(variable);
    else notes.push(`${path} is a stub for the tool ${quoted(name)}: ${body.reason}`);
    return { path, content: body.ok ? file(body.code) : stub, fromModel: true };
  });
  const used = tools.length - notes.length;
  if (used > 0)
    notes.unshift(
      `a model wrote the code of ${used} of ${tools.length} tools in ${folder}: review it before you start the agent`,
    );
  const names = new Set(tools.map(({ name }) => name));
  const unknown = [...written.bodies.keys()].filter((name) => !names.has(name)).length + written.invalid;
  if (unknown > 0) notes.push(`entries of the response that fit no declared tool were not used: ${unknown}`);
  files.push({ path: `${folder}/tools.json`, content: `${JSON.stringify(entries, null, 2)}\n` });
  return { files, variables: [...read], notes };
}
