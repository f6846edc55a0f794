import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';

export interface Position {
  line: number;
  character: number;
}

export interface Diagnostic {
  message: string;
  range: { start: Position; end: Position };
}

interface Message {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { message: string };
}

/** A client of the Language Server Protocol over the standard input and output of a process. */
export class LanguageClient {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #settings: Readonly<Record<string, unknown>>;
  readonly #calls = new Map<number, (message: Message) => void>();
  /** The first published diagnostics by document. */
  readonly #diagnostics = new Map<string, PromiseWithResolvers<Diagnostic[]>>();
  #received: Buffer = Buffer.alloc(0);
  #lastId = 0;

  /** @param settings what the server gets for `workspace/configuration`, by section */
  constructor(command: readonly string[], settings: Readonly<Record<string, unknown>>) {
    const [program = '', ...args] = command;
    this.#settings = settings;
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stderr.resume();
    this.#child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  async start(rootUri: string): Promise<void> {
    await this.request('initialize', {
      processId: process.pid,
      rootUri,
      workspaceFolders: [{ uri: rootUri, name: 'a-test' }],
      capabilities: {
        workspace: { configuration: true, workspaceFolders: true },
        textDocument: {
          completion: { completionItem: { snippetSupport: true, documentationFormat: ['markdown'] } },
          hover: { contentFormat: ['markdown'] },
          publishDiagnostics: {},
        },
      },
    });
    this.#send({ method: 'initialized', params: {} });
    this.#send({ method: 'workspace/didChangeConfiguration', params: { settings: this.#settings } });
  }

  open(uri: string, text: string): void {
    this.#send({
      method: 'textDocument/didOpen',
      params: { textDocument: { uri, languageId: 'yaml', version: 1, text } },
    });
  }

  /** Resolves with the first diagnostics of the document. */
  diagnostics(uri: string): Promise<Diagnostic[]> {
    return this.#published(uri).promise;
  }

  async request<T>(method: string, params: unknown): Promise<T> {
    const id = (this.#lastId += 1);
    const response = await new Promise<Message>((resolve) => {
      this.#calls.set(id, resolve);
      this.#send({ id, method, params });
    });
    if (response.error !== undefined) throw new Error(`${method} failed: ${response.error.message}`);
    return response.result as T;
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    await this.request('shutdown', null);
    this.#send({ method: 'exit' });
    await exited;
  }

  #published(uri: string): PromiseWithResolvers<Diagnostic[]> {
    const known = this.#diagnostics.get(uri) ?? Promise.withResolvers<Diagnostic[]>();
    this.#diagnostics.set(uri, known);
    return known;
  }

  #send(message: Message): void {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.#child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.#child.stdin.write(body);
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const headEnd = this.#received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = this.#received.toString('latin1', 0, headEnd);
      const end = headEnd + 4 + Number(/Content-Length: (\d+)/i.exec(head)?.[1]);
      if (this.#received.length < end) return;
      const body = this.#received.toString('utf8', headEnd + 4, end);
      this.#received = this.#received.subarray(end);
      this.#handle(JSON.parse(body) as Message);
    }
  }

  #handle(message: Message): void {
    const { id, method, params } = message;
    if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params as { uri: string; diagnostics: Diagnostic[] };
      this.#published(uri).resolve(diagnostics);
    } else if (method === undefined && id !== undefined) {
      this.#calls.get(id)?.(message);
      this.#calls.delete(id);
    } else if (id !== undefined) this.#send({ id, result: this.#resultFor(message) });
  }

  /** Results of requests that the server sends. */
  #resultFor({ method, params }: Message): unknown {
    if (method !== 'workspace/configuration') return null;
    const { items } = params as { items: { section?: string }[] };
    return items.map(({ section = '' }) => this.#settings[section] ?? null);
  }
}
