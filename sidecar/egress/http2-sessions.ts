import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { LoadLimits } from '../proxy/load-limits.ts';

/** All streams of one read are in memory before the first of them can have a response, so each session has few. */
export const HTTP2_OPTIONS = {
  // A few bytes can stand for a large head, because HTTP/2 compresses heads.
  settings: { maxConcurrentStreams: 100, maxHeaderListSize: 16 * 1024 },
  // Resets at once, and per second after that.
  streamResetBurst: 100,
  streamResetRate: 33,
} as const;

/** Limits the HTTP/2 sessions of a server. */
export class Http2Sessions {
  readonly #load: Pick<LoadLimits, 'maxHttp2Sessions' | 'cut' | 'dropped'>;
  /** The open streams of each session, in the order in which the sessions began. */
  readonly #sessions = new Map<ServerHttp2Session, number>();
  /** Those that were closed for others. They are in memory until the end of this turn of the event loop. */
  readonly #cut = new Set<ServerHttp2Session>();

  constructor(server: Http2Server, load: Pick<LoadLimits, 'maxHttp2Sessions' | 'cut' | 'dropped'>) {
    this.#load = load;
    server.on('session', (session) => {
      this.#sessions.set(session, 0);
      session.once('close', () => {
        this.#sessions.delete(session);
        this.#cut.delete(session);
      });
      session.on('stream', (stream) => {
        this.#count(session, 1);
        stream.once('close', () => this.#count(session, -1));
      });
    });
  }

  /** Admits another session. Above the limit, the longest open one without a stream is closed. false: all have streams. */
  admit(): boolean {
    const { maxHttp2Sessions } = this.#load;
    if (this.#sessions.size - this.#cut.size < maxHttp2Sessions) return true;
    const [idle] =
      [...this.#sessions].find(([session, streams]) => streams === 0 && !this.#cut.has(session)) ?? [];
    if (idle === undefined || this.#cut.size >= maxHttp2Sessions) {
      this.#load.dropped += 1;
      return false;
    }
    this.#cut.add(idle);
    this.#load.cut += 1;
    idle.destroy();
    return true;
  }

  /** Lets calls in flight finish. */
  close(): void {
    for (const session of this.#sessions.keys()) session.close();
  }

  #count(session: ServerHttp2Session, streams: number): void {
    const known = this.#sessions.get(session);
    if (known !== undefined) this.#sessions.set(session, known + streams);
  }
}
