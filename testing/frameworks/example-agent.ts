import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { AgentProcess } from './agent-process.ts';
import type { ExampleRow } from './example-rows.ts';
import { folderOf, QUIET } from './programs.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The sources of both distributions. */
const PYTHON_SOURCES = ['python/src', 'python/integrations/src'];

/** An example agent in a temporary directory, next to the packages that it names. */
export class ExampleAgent {
  readonly folder = mkdtempSync(join(tmpdir(), 'example-'));
  readonly #row: ExampleRow;
  #process: AgentProcess | null = null;

  /** @param manifest replaces the agent's own `agent.yaml` */
  constructor(row: ExampleRow, manifest: string) {
    this.#row = row;
    cpSync(join(ROOT, 'examples', row.folder), this.folder, { recursive: true });
    writeFileSync(join(this.folder, 'agent.yaml'), manifest);
    if (row.packages !== 'python') this.#linkPackages();
  }

  /** Starts the agent and waits until `GET /health` returns 2xx. */
  async start(port: number, env: Record<string, string>): Promise<void> {
    const isPython = this.#row.packages === 'python';
    this.#process = new AgentProcess({
      name: this.#row.folder,
      folder: this.folder,
      file: isPython ? 'main.py' : 'main.mjs',
      env: {
        ...{ PATH: process.env['PATH'] ?? '', HOME: this.folder, ...QUIET },
        // The integrations use the tracing of these frameworks.
        ...{ OPENAI_AGENTS_DISABLE_TRACING: '0', OTEL_SDK_DISABLED: 'false' },
        ...(isPython && { PYTHONPATH: PYTHON_SOURCES.map((path) => join(ROOT, path)).join(delimiter) }),
        ...{ ...env, PORT: String(port) },
      },
    });
    await this.#process.untilHealthy(port);
  }

  /** Its output so far. */
  output(): string {
    return this.#process?.output() ?? '';
  }

  async close(): Promise<void> {
    await this.#process?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The packages that the agent's own package.json names. A missing one there is a package that the agent does not find. */
  #linkPackages(): void {
    const file = join(this.folder, 'package.json');
    const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const name of Object.keys(dependencies)) {
      const path = join(this.folder, 'node_modules', name);
      mkdirSync(dirname(path), { recursive: true });
      if (name === 'agent-compliance') copyOwnPackage(path);
      else {
        const found = [folderOf(this.#row.packages), ROOT].map((each) => join(each, 'node_modules', name));
        const target = found.find((each) => existsSync(each));
        if (target === undefined)
          throw new Error(`${this.#row.folder} needs ${name}, which is not installed`);
        symlinkSync(target, path);
      }
    }
  }
}

/** Copied, not linked: its integrations must find the frameworks of the agent. */
function copyOwnPackage(path: string): void {
  mkdirSync(path);
  for (const file of ['package.json', 'dist/reporter', 'dist/integrations'])
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(path, file), { recursive: true });
}
