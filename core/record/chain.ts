import { isRecord, jsonOf } from '../untrusted/fields.ts';
import { canonicalJson } from './canonical.ts';
import { parseEvent } from './columns.ts';
import { chainOfUid, LOG_NAME, NO_LINE } from './record-event.ts';

/** The digest of a line that had left the pod: evidence that cannot be changed with the file. */
export interface ChainHead {
  chain: string;
  sequence: number;
  /** SHA-256 of the line, in hex. */
  head: string;
}

/** Characters of a line. Other programs may add members to the lines of at most 8,000 bytes. */
export const MAX_LINE = 65_536;

/** What the verification of a log can find. */
export const CHAIN_PROBLEMS = [
  /** The line is not complete. */
  'torn',
  /** The line is not an audit event. */
  'unreadable',
  /** The next line contains the hash of another line. */
  'changed',
  /** Lines before this line are missing. */
  'missing',
  /** The line is repeated, or stands after its place. */
  'order',
  /** The line is not the line whose head was sent. */
  'differs-from-head',
  /** Lines at the end are missing, whose head was sent. */
  'truncated',
] as const;

export interface ChainFinding {
  problem: (typeof CHAIN_PROBLEMS)[number];
  /** Number of the line over all files, from 1. */
  line: number;
  message: string;
}

/** The lines of one chain in the files. */
export interface ChainPart {
  chain: string;
  first: number;
  last: number;
  /** false: the lines before `first` were rotated away, or another file has them. */
  isFromStart: boolean;
  /** Events that the writer reports as lost. */
  lost: number;
  /** Heads that the lines were compared with. */
  heads: number;
}

export interface ChainReport {
  lines: number;
  /** Lines of other programs, such as those of a log of a container. */
  otherLines: number;
  chains: ChainPart[];
  findings: ChainFinding[];
  /** Chains with a head of which the files have no line. */
  absent: string[];
}

interface ChainState extends ChainPart {
  digest: string;
  /** Number of the last line. */
  line: number;
}

interface ReadLine {
  chain: string;
  sequence: number;
  prev: string;
  digest: string;
  lost: number;
}

/**
 * Verifies lines in the order of the files, oldest first. The hash is that of the canonical form, so lines that were
 * parsed and written again by another program pass.
 */
export class ChainVerifier {
  readonly #sha256: (text: string) => string;
  readonly #heads = new Map<string, Map<number, string>>();
  readonly #chains = new Map<string, ChainState>();
  readonly #findings: ChainFinding[] = [];
  #lines = 0;
  #otherLines = 0;

  /** `sha256`: the hash of a text's UTF-8 bytes, in hex. */
  constructor(sha256: (text: string) => string, heads: readonly ChainHead[]) {
    this.#sha256 = sha256;
    for (const { chain, sequence, head } of heads) {
      const known = this.#heads.get(chain) ?? new Map<number, string>();
      this.#heads.set(chain, known.set(sequence, head));
    }
  }

  /** `isComplete`: a newline follows the line. */
  add(line: string, isComplete = true): void {
    this.#lines += 1;
    if (!isComplete) {
      this.#find('torn', this.#lines, 'not complete: no newline follows');
      return;
    }
    const read = this.#read(line);
    if (read === null) this.#otherLines += 1;
    else if (typeof read === 'string') this.#find('unreadable', this.#lines, read);
    else this.#follow(read);
  }

  report(): ChainReport {
    for (const [chain, heads] of this.#heads) {
      const state = this.#chains.get(chain);
      const newest = Math.max(...heads.keys());
      if (state !== undefined && newest > state.last)
        this.#find('truncated', state.line, `head ${newest} is known, the chain ends at ${state.last}`);
    }
    return {
      lines: this.#lines,
      otherLines: this.#otherLines,
      chains: [...this.#chains.values()].map(({ digest: _digest, line: _line, ...part }) => part),
      findings: this.#findings.toSorted((a, b) => a.line - b.line),
      absent: [...this.#heads.keys()].filter((chain) => !this.#chains.has(chain)),
    };
  }

  /** A string: why the line cannot be read. null: a line of another program. A removed line of the log leaves a hole in its chain. */
  #read(line: string): ReadLine | string | null {
    if (line.length > MAX_LINE) return `more than ${MAX_LINE} characters`;
    const value = jsonOf(line);
    if (value === undefined) return line.trimStart().startsWith('{') ? 'not valid JSON' : null;
    if (!isOfLog(value)) return null;
    const parsed = parseEvent(value);
    if (!parsed.ok) return parsed.error;
    const { metadata, unmapped } = parsed.event;
    const { kind, prev } = unmapped.platform;
    const count = value['count'];
    const lost = kind === 'gap' && typeof count === 'number' ? count : 0;
    const chain = chainOfUid(metadata.uid);
    try {
      const digest = this.#sha256(canonicalJson(value));
      return { chain, sequence: metadata.sequence, prev, digest, lost };
    } catch (error) {
      if (error instanceof RangeError) return error.message;
      throw error;
    }
  }

  #follow(read: ReadLine): void {
    const known = this.#chains.get(read.chain);
    const state = known ?? this.#begin(read);
    if (known !== undefined) this.#continue(known, read);
    const head = this.#heads.get(read.chain)?.get(read.sequence);
    if (head === undefined) return;
    state.heads += 1;
    if (head !== read.digest)
      this.#find(
        'differs-from-head',
        this.#lines,
        `differs from the head that was sent for ${read.sequence}`,
      );
  }

  #begin({ chain, sequence, prev, digest, lost }: ReadLine): ChainState {
    const isFromStart = prev === NO_LINE;
    if (isFromStart !== (sequence === 1))
      this.#find('changed', this.#lines, `sequence ${sequence} and the hash of the line before do not fit`);
    const part = { chain, first: sequence, last: sequence, isFromStart, lost, heads: 0 };
    const state = { ...part, digest, line: this.#lines };
    this.#chains.set(chain, state);
    return state;
  }

  #continue(state: ChainState, { sequence, prev, digest, lost }: ReadLine): void {
    const expected = state.last + 1;
    if (sequence < expected) this.#find('order', this.#lines, `sequence ${sequence} follows ${state.last}`);
    else if (sequence > expected)
      this.#find('missing', this.#lines, `lines ${expected} to ${sequence - 1} are missing before it`);
    else if (prev !== state.digest)
      this.#find(
        'changed',
        state.line,
        `the line with sequence ${state.last} is not the one that was written`,
      );
    Object.assign(state, {
      last: Math.max(state.last, sequence),
      ...(sequence >= state.last && { digest, line: this.#lines }),
      lost: state.lost + lost,
    });
  }

  #find(problem: ChainFinding['problem'], line: number, message: string): void {
    this.#findings.push({ problem, line, message });
  }
}

function isOfLog(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && isRecord(value['metadata']) && value['metadata']['log_name'] === LOG_NAME;
}
