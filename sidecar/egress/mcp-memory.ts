import type { RpcId } from '../../core/egress/mcp-messages.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Servers of an MCP lane; more than the number of lanes. */
const MAX_SERVERS = 64;
/** Tools of one server. */
const MAX_TOOLS = 2_000;
/** UTF-16 units of a name, as in lists. */
const MAX_NAME = 200;
/** Open streams of the older HTTP+SSE transport. */
const MAX_STREAMS = 1_000;

/** Calls on one stream whose results have not arrived. */
const MAX_WAITING = 1_000;

/** Writes bytes between two frames of an open stream. */
type Write = (bytes: string) => void;

/** A stream of the older HTTP+SSE transport: the results of calls in other requests arrive on it. */
interface Stream {
  write: Write;
  /** What to do with a result without an error, by the id of the call. */
  waiting: Map<RpcId, () => void>;
}

/** What the MCP lanes remember between calls. */
export class McpMemory {
  readonly #listed = new Map<string, readonly string[]>();
  /** By the path, with the query, to which the client of the stream sends its messages. */
  readonly #streams = new Map<string, Stream>();
  /** The servers in `#listed` that have not listed their tools yet. */
  readonly #unlisted = new Set<string>();

  /** The tools of each server, as it listed them last. Until it lists them: the tools that it has run. */
  get listed(): ReadonlyMap<string, readonly string[]> {
    return this.#listed;
  }

  /** A server lists its tools in pages: `names` are added to the known ones. */
  list(server: string, names: readonly string[]): void {
    if (this.#unlisted.delete(server)) this.#listed.delete(server);
    this.#add(server, names);
  }

  /**
   * A server ran a tool. After a restart of the sidecar, clients do not list the tools again. `name` therefore counts as
   * listed until the server lists its tools.
   */
  ran(server: string, name: string): void {
    const isListed = this.#listed.has(server) && !this.#unlisted.has(server);
    if (isListed || name.length > MAX_NAME) return;
    this.#unlisted.add(server);
    this.#add(server, [name]);
  }

  #add(server: string, names: readonly string[]): void {
    const all = new Set([...(this.#listed.get(server) ?? []), ...names]);
    // The newest names: a server that changes its tools without end must not fill the memory.
    setNewest(this.#listed, [server, [...all].slice(-MAX_TOOLS)], MAX_SERVERS);
  }

  /** `path`: of the lane, as the server's first event announces it. */
  open(path: string, write: Write): void {
    setNewest(this.#streams, [path, { write, waiting: new Map() }], MAX_STREAMS);
  }

  /** The stream that answers messages to `path`; null: messages to this path are answered in their own response. */
  streamOf(path: string): Write | null {
    return this.#streams.get(path)?.write ?? null;
  }

  /** A call was sent to `path`. `run` is called when its result without an error arrives on the stream. */
  expect(path: string, id: RpcId, run: () => void): void {
    const stream = this.#streams.get(path);
    if (stream !== undefined) setNewest(stream.waiting, [id, run], MAX_WAITING);
  }

  /** The result of a call arrived on the stream of `path`. */
  arrived(path: string, { id, isError }: { id: RpcId; isError: boolean }): void {
    const stream = this.#streams.get(path);
    const run = stream?.waiting.get(id);
    stream?.waiting.delete(id);
    if (!isError) run?.();
  }

  close(path: string): void {
    this.#streams.delete(path);
  }
}
