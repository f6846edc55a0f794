import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Servers of an MCP lane; more than the number of lanes. */
const MAX_SERVERS = 64;
/** Tools of one server. */
const MAX_TOOLS = 2_000;
/** Open streams of the older HTTP+SSE transport. */
const MAX_STREAMS = 1_000;

/** Writes bytes between two frames of an open stream. */
type Write = (bytes: string) => void;

/** What the MCP lanes remember between calls. */
export class McpMemory {
  readonly #listed = new Map<string, readonly string[]>();
  /** By the path, with the query, to which the client of the stream sends its messages. */
  readonly #streams = new Map<string, Write>();

  /** The tools of each server, as it listed them last. */
  get listed(): ReadonlyMap<string, readonly string[]> {
    return this.#listed;
  }

  /** A server lists its tools in pages: `names` are added to the known ones. */
  list(server: string, names: readonly string[]): void {
    const all = new Set([...(this.#listed.get(server) ?? []), ...names]);
    // The newest names: a server that changes its tools without end must not fill the memory.
    setNewest(this.#listed, [server, [...all].slice(-MAX_TOOLS)], MAX_SERVERS);
  }

  /** `path`: of the lane, as the server's first event announces it. */
  open(path: string, write: Write): void {
    setNewest(this.#streams, [path, write], MAX_STREAMS);
  }

  /** The stream that answers messages to `path`; null: messages to this path are answered in their own response. */
  streamOf(path: string): Write | null {
    return this.#streams.get(path) ?? null;
  }

  close(path: string): void {
    this.#streams.delete(path);
  }
}
