import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { FRAMEWORK_PROJECTS } from '../../authoring/scaffold/framework-projects.ts';
import type { Framework } from '../../authoring/scaffold/frameworks.ts';
import type { GeneratedFile } from '../../authoring/scaffold/generated-file.ts';
import { linkPackages, makeConsumerProject, type ConsumerProject } from '../machine/consumer-project.ts';
import { AgentProcess } from './agent-process.ts';
import { folderOf, pythonIn, QUIET } from './programs.ts';
import type { Packages } from './row.ts';

const run = promisify(execFile);
/** Limit for the tests and the type check of a project. */
const COMMAND_MS = 240_000;

export const packagesOf = (framework: Framework): Packages =>
  FRAMEWORK_PROJECTS[framework].language === 'python' ? 'python' : 'node';

/** The files of `platform generate --framework` in a temporary directory, with their packages. */
export class GeneratedProject {
  readonly folder: string;
  readonly #framework: Framework;
  readonly #consumer: ConsumerProject | null;
  #process: AgentProcess | null = null;

  private constructor(framework: Framework, consumer: ConsumerProject | null) {
    this.#framework = framework;
    this.#consumer = consumer;
    this.folder = consumer?.folder ?? mkdtempSync(join(tmpdir(), 'generated-'));
  }

  static async create(framework: Framework, files: readonly GeneratedFile[]): Promise<GeneratedProject> {
    const isPython = packagesOf(framework) === 'python';
    const consumer = isPython ? null : await makeConsumerProject();
    const project = new GeneratedProject(framework, consumer);
    for (const { path, content } of files) {
      const file = join(project.folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    if (consumer !== null) linkNodePackages(consumer);
    return project;
  }

  /** Runs the tests of the project and, for TypeScript, its type check. Rejects with their output if one fails. */
  async check(env: Record<string, string>): Promise<void> {
    const commands =
      packagesOf(this.#framework) === 'python'
        ? [[pythonIn(folderOf('python')), '-m', 'unittest']]
        : [
            [process.execPath, 'node_modules/typescript/bin/tsc'],
            [process.execPath, '--test', 'test/agent.test.ts'],
          ];
    for (const [command = '', ...args] of commands)
      await run(command, args, { cwd: this.folder, env: this.#env(env), timeout: COMMAND_MS }).catch(
        (error: { stdout?: string; stderr?: string }) => {
          throw new Error(`${args.join(' ')}: ${error.stdout ?? ''}${error.stderr ?? ''}`, { cause: error });
        },
      );
  }

  /** Standard output of a script in the folder of the project. */
  async output(script: { python: string; typescript: string }, env: Record<string, string>): Promise<string> {
    const isPython = packagesOf(this.#framework) === 'python';
    const args = isPython ? ['-c', script.python] : ['--input-type=module', '-e', script.typescript];
    const command = isPython ? pythonIn(folderOf('python')) : process.execPath;
    const options = { cwd: this.folder, env: this.#env(env), timeout: COMMAND_MS };
    return (await run(command, args, options)).stdout;
  }

  /** Starts the agent and waits until `GET /health` returns 2xx. */
  async start(port: number, env: Record<string, string>): Promise<void> {
    this.#process = new AgentProcess({
      name: `the ${this.#framework} project`,
      folder: this.folder,
      file: packagesOf(this.#framework) === 'python' ? 'main.py' : 'src/main.ts',
      env: this.#env({ ...env, PORT: String(port), HOST: '127.0.0.1' }),
    });
    await this.#process.untilHealthy(port);
  }

  async close(): Promise<void> {
    await this.#process?.close();
    if (this.#consumer === null) rmSync(this.folder, { recursive: true, force: true });
    else this.#consumer.remove();
  }

  #env(env: Record<string, string>): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.folder, ...QUIET, ...env };
  }
}

/** Packages that the consumer project does not have: those of the matrix, and the tools of this repository. */
function linkNodePackages(consumer: ConsumerProject): void {
  linkPackages(consumer, ['yaml', 'typescript', '@types/node']);
  for (const name of ['@ai-sdk', '@mastra', 'zod'])
    symlinkSync(join(folderOf('node'), 'node_modules', name), join(consumer.folder, 'node_modules', name));
}
