import { CATEGORY_SEVERITIES } from '../../core/shapes/values.ts';
import { PORTS } from '../../core/facts/address.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import type { Vendor } from '../../core/vendors/vendor.ts';
import { modelVendorOf, VENDORS } from '../../core/vendors/vendors.ts';
import type { WrittenCode } from './written-code.ts';
import { FRAMEWORK_PROJECTS, TYPESCRIPT_TOOLS } from './framework-projects.ts';
import type { Framework } from './frameworks.ts';
import type { GeneratedFile } from './generated-file.ts';
import { PERSONAL_FIELDS } from './personal-fields.ts';
import { promptFiles, type PromptTexts } from './prompt-files.ts';
import { readmeOf } from './readme.ts';
import { TEMPLATES } from './templates.generated.ts';
import { toolFiles } from './tool-files.ts';

export interface ProjectInput {
  manifest: Manifest;
  /** The file that `manifest` was parsed from. */
  manifestText: string;
  framework: Framework;
  written: WrittenCode;
  /** Version of the npm package with the reporter. */
  version: string;
  /** Prompt files of the user. */
  texts?: PromptTexts;
}

const DEFAULT_PORT = 8000;

/**
 * The files of an agent project. Values of the manifest are only in agent.yaml, in JSON and in the prompt, never in code: the
 * templates read agent.yaml when the agent starts. Of the response of a model, only checked function bodies and the prompt are used.
 */
export function projectOf(input: ProjectInput): { files: GeneratedFile[]; notes: string[] } {
  const { manifest, manifestText, framework, written } = input;
  const project = FRAMEWORK_PROJECTS[framework];
  const tools = toolFiles(manifest.spec.tools ?? [], written, project.language);
  const port = manifest.spec.api?.port ?? DEFAULT_PORT;
  const files: GeneratedFile[] = [
    {
      path: 'README.md',
      content: readmeOf(manifest, project, { port, toolVariables: tools.variables }),
      ...(tools.files.length > 1 && { fromModel: true as const }),
    },
    { path: 'agent.yaml', content: manifestText },
    ...templatesOf(framework, project.language),
    ...(project.language === 'python'
      ? pythonFiles(project.packages)
      : typescriptFiles(input, project.packages)),
    ...tools.files,
  ];
  const texts = input.texts ?? new Map<string, string>();
  const prompts = promptFiles(manifest, { written: written.systemPrompt, texts }, files);
  return { files: [...files, ...prompts.files], notes: [...prompts.notes, ...tools.notes] };
}

/** Templates of the language and of the framework. A file that tools of this repository would read as theirs ends in `.tmpl`. */
function templatesOf(framework: Framework, language: 'python' | 'typescript'): GeneratedFile[] {
  const folders = language === 'python' ? ['python', framework] : [framework];
  return Object.entries(TEMPLATES).flatMap(([name, content]) => {
    const [folder = '', ...rest] = name.split('/');
    if (!folders.includes(folder)) return [];
    const path = rest
      .join('/')
      .replace(/\.tmpl$/, '')
      .replace(/^(?=(?:docker|git)ignore$)/, '.');
    return { path, content, ...(path === '.gitignore' && { kept: true as const }) };
  });
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function pythonFiles(packages: Readonly<Record<string, string>>): GeneratedFile[] {
  const requirements = Object.entries(packages).map(([name, version]) => `${name}==${version}\n`);
  const vendors = Object.entries<Vendor>(VENDORS);
  const tables = {
    vendors: Object.fromEntries(vendors.flatMap(([name, { api }]) => (api === null ? [] : [[name, api]]))),
    aliases: Object.fromEntries(
      vendors.flatMap(([name, { aliases }]) => aliases.map((alias) => [alias, name])),
    ),
    ports: PORTS,
    severities: CATEGORY_SEVERITIES,
  };
  return [
    { path: 'requirements.txt', content: requirements.join('') },
    { path: 'platform_reporter/tables.json', content: json(tables) },
    { path: 'app/personal_fields.json', content: json(PERSONAL_FIELDS) },
  ];
}

/** A version that npm accepts; a version of the manifest may also be a reference. */
const NPM_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

function typescriptFiles(
  { manifest, version }: ProjectInput,
  packages: Readonly<Record<string, string>>,
): GeneratedFile[] {
  const { name, version: own, description } = manifest.metadata;
  const { vendor, variable } = modelVendorOf(manifest.spec.model.provider);
  const api = { variable, baseUrl: vendor.baseUrl, path: vendor.openAiPath };
  const packageJson = {
    name,
    version: NPM_VERSION.test(own) ? own : '0.0.0',
    description,
    private: true,
    type: 'module',
    engines: { node: '>=24' },
    scripts: {
      start: 'node src/main.ts',
      test: 'node --test test/agent.test.ts',
      typecheck: 'tsc',
    },
    dependencies: { 'agent-compliance': version, ...packages },
    devDependencies: TYPESCRIPT_TOOLS,
  };
  return [
    { path: 'package.json', content: json(packageJson) },
    { path: 'src/model-api.json', content: json(api) },
    { path: 'src/personal-fields.json', content: json(PERSONAL_FIELDS) },
  ];
}
