import { MAX_NAME, MAX_TOOLS, type McpResponse, type RpcId } from '../../core/egress/mcp-messages.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';

/** Servers of an MCP lane; more than the number of lanes. */
const MAX_SERVERS = 64;
/** Open streams of the older HTTP+SSE transport. */
const MAX_STREAMS = 1_000;

/** Requests on one stream whose responses have not arrived. */
const MAX_WAITING = 1_000;

/** Writes bytes between two frames of an open stream. */
type Write = (bytes: string) => void;

/** A stream of the older HTTP+SSE transport: the responses to other requests arrive on it. */
interface Stream {
  write: Write;
  /** What to do with the response, by the id of the request. */
  waiting: Map<RpcId, OnResponse>;
}

export type OnResponse = (response: McpResponse) => void;

/** A page of the list of a server's tools. */
export interface ListedPage {
  names: readonly string[];
  /** The cursor of its request; null: the first page; undefined: the request is not known. */
  cursor: string | null | undefined;
  /** The cursor of the next page; undefined: this is the last one. */
  next: string | undefined;
}

/** A list of which a client has not received the last page. */
interface Pages {
  names: readonly string[];
  /** The cursor of the next page. */
  next: string;
  /** The complete list before. */
  before: readonly string[];
}

/** What the MCP lanes remember between calls. */
export class McpMemory {
  readonly #listed = new Map<string, readonly string[]>();
  readonly #everListed = new Map<string, readonly string[]>();
  /** The servers in `#listed` that have not listed their tools yet. */
  readonly #unlisted = new Set<string>();
  readonly #pages = new Map<string, Pages>();
  /** By the path, with the query, to which the client of the stream sends its messages. */
  readonly #streams = new Map<string, Stream>();

  /** The tools of each server, as it listed them last, in any session. Until it lists them: the tools that it has run. */
  get listed(): ReadonlyMap<string, readonly string[]> {
    return this.#listed;
  }

  hasListed(server: string): boolean {
    return this.#listed.has(server) && !this.#unlisted.has(server);
  }

  /** As `listed`, with the tools that later lists do not have: calls before their removal were allowed. */
  everListed(server: string): readonly string[] {
    return (this.hasListed(server) ? this.#everListed : this.#listed).get(server) ?? [];
  }

  /**
   * A list replaces the one before when its last page arrives. Until then both count. A page that continues no known list, such as that
   * of another session at the same time, adds its names.
   */
  list(server: string, { names, cursor, next }: ListedPage): void {
    if (this.#unlisted.delete(server)) this.#listed.delete(server);
    const listed = this.#listed.get(server) ?? [];
    this.#set(this.#everListed, server, [...(this.#everListed.get(server) ?? []), ...names]);
    const pages = this.#pages.get(server);
    const isNextPage = pages !== undefined && pages.next === cursor;
    if (cursor !== null && !isNextPage) {
      this.#set(this.#listed, server, [...listed, ...names]);
      return;
    }
    const all = isNextPage ? [...pages.names, ...names].slice(-MAX_TOOLS) : names;
    const before = pages?.before ?? listed;
    if (next === undefined) this.#pages.delete(server);
    else setNewest(this.#pages, [server, { names: all, next, before }], MAX_SERVERS);
    this.#set(this.#listed, server, next === undefined ? all : [...before, ...all]);
  }

  /**
   * A server ran a tool. After a restart of the sidecar, clients do not list the tools again. `name` therefore counts as
   * listed until the server lists its tools.
   */
  ran(server: string, name: string): void {
    if (this.hasListed(server) || name.length > MAX_NAME) return;
    this.#unlisted.add(server);
    this.#set(this.#listed, server, [...(this.#listed.get(server) ?? []), name]);
  }

  /** Keeps the newest names: a server that changes its tools without end must not fill the memory. */
  #set(lists: Map<string, readonly string[]>, server: string, names: readonly string[]): void {
    setNewest(lists, [server, [...new Set(names)].slice(-MAX_TOOLS)], MAX_SERVERS);
  }

  /** `path`: of the lane, as the server's first event announces it. */
  open(path: string, write: Write): void {
    setNewest(this.#streams, [path, { write, waiting: new Map() }], MAX_STREAMS);
  }

  /** The stream for the responses to messages to `path`; null: these are sent in the response to the message. */
  streamOf(path: string): Write | null {
    return this.#streams.get(path)?.write ?? null;
  }

  /** A request was sent to `path`. `run` is called when its response arrives on the stream. */
  expect(path: string, id: RpcId, run: OnResponse): void {
    const stream = this.#streams.get(path);
    if (stream !== undefined) setNewest(stream.waiting, [id, run], MAX_WAITING);
  }

  /** What to do with a response that arrived on the stream of `path`; undefined: its request is not known. */
  arrived(path: string, id: RpcId): OnResponse | undefined {
    const waiting = this.#streams.get(path)?.waiting;
    const run = waiting?.get(id);
    waiting?.delete(id);
    return run;
  }

  /** A client that connects again can have opened a newer stream with the same path. */
  close(path: string, write: Write | null): void {
    if (this.#streams.get(path)?.write === write) this.#streams.delete(path);
  }
}
