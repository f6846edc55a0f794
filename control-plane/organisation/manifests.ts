import { createHash } from 'node:crypto';
import type { Manifest, ManifestProblem } from '../../core/manifest/manifest.ts';
import type { AgentPolicy, Subject } from '../../core/organisation/finding.ts';
import { isExcepted } from '../../core/organisation/select.ts';
import { cutJudgement, type CutJudgement } from '../../core/organisation/status.ts';
import { FairQueue } from '../../runtime/fair-queue.ts';
import type { ManifestWorker } from '../../runtime/manifest-worker.ts';

/** Bytes of the manifests and their judgements in memory. A sidecar sends a manifest again when it is asked for. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Of one manifest, in addition to its text. */
const ENTRY_BYTES = 500;
/** Texts with such a character need two bytes for each. */
const NOT_LATIN = /[^\0-\xff]/;
/** Tasks that wait, each of which has a manifest of at most 64 KiB. */
const MAX_WAITING = { waiting: 500, ofOneKey: 100 };
/** A manifest that took too long is judged again after this time, in milliseconds: the machine may have been busy. */
const SLOW_MS = 600_000;

interface Known {
  /** As JSON: objects need seven times the memory of their text. */
  json: string;
  bytes: number;
  /** By the rules and the subject. */
  judgements: Map<string, Kept>;
}

interface Kept {
  /** null: it took too long. */
  judgement: CutJudgement | null;
  untilMs: number;
}

/** Whose manifest it is. `signal` aborts when the sender no longer waits for the result. */
export interface Sender {
  namespace: string;
  signal: AbortSignal;
}

/**
 * The manifests of the agents that report here, and the judgements of the manifests alone. A thread makes them, for one namespace after
 * the other: the author of a manifest decides how much is compared.
 */
export class Manifests {
  readonly #worker: ManifestWorker;
  readonly #queue = new FairQueue(MAX_WAITING);
  /** By hash; the least recently used first. */
  readonly #known = new Map<string, Known>();
  #bytes = 0;

  constructor(worker: ManifestWorker) {
    this.#worker = worker;
  }

  /** null: not known. */
  get(hash: string): Manifest | null {
    const known = this.#known.get(hash);
    if (known === undefined) return null;
    this.#known.delete(hash);
    this.#known.set(hash, known);
    return JSON.parse(known.json) as Manifest;
  }

  /** null: too many manifests of the namespace wait. `slow`: it takes too long to parse. */
  async remember(
    bytes: Buffer,
    { namespace, signal }: Sender,
  ): Promise<{ hash: string } | { problems: readonly ManifestProblem[] } | 'slow' | null> {
    const hash = createHash('sha256').update(bytes).digest('hex');
    return this.#queue.run(namespace, signal, async () => {
      // Another sender of the same manifest may have been faster.
      const known = this.get(hash);
      if (known !== null) return { hash };
      const parsed = await this.#worker.parse(bytes.toString());
      if (parsed === null) return 'slow';
      if (!parsed.ok) return { problems: parsed.problems };
      const { manifest } = parsed;
      const json = JSON.stringify(manifest);
      this.#known.set(hash, { json, bytes: 0, judgements: new Map() });
      this.#grow(hash, ENTRY_BYTES + json.length * (NOT_LATIN.test(json) ? 2 : 1));
      return { hash };
    });
  }

  /**
   * What the policies say about a known manifest alone.
   * @param policies those that select the subject
   * @returns null: not known in time. `judgement` is null if the comparison takes too long.
   */
  async judge(
    hash: string,
    policies: readonly AgentPolicy[],
    { subject, signal }: { subject: Subject; signal: AbortSignal },
  ): Promise<Pick<Kept, 'judgement'> | null> {
    const id = idOf(policies, subject);
    const find = (): Kept | null => {
      const kept = this.#known.get(hash)?.judgements.get(id);
      return kept !== undefined && subject.at.getTime() < kept.untilMs ? kept : null;
    };
    return (
      find() ??
      this.#queue.run(subject.namespace ?? '', signal, async () => {
        const found = find();
        if (found !== null) return found;
        const judgement = await this.#worker.judge(policies, subject, 'manifest');
        const kept: Kept =
          judgement === null
            ? { judgement, untilMs: subject.at.getTime() + SLOW_MS }
            : { judgement: cutJudgement(judgement), untilMs: Infinity };
        this.#known.get(hash)?.judgements.set(id, kept);
        this.#grow(hash, JSON.stringify(kept).length);
        return kept;
      })
    );
  }

  /** Counts the memory, and forgets what was not used for the longest time. */
  #grow(hash: string, bytes: number): void {
    const grown = this.#known.get(hash);
    if (grown === undefined) return;
    grown.bytes += bytes;
    this.#bytes += bytes;
    for (const [oldest, known] of this.#known) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#known.delete(oldest);
      this.#bytes -= known.bytes;
    }
  }
}

/** By policy, whose content never changes: a changed policy is another object. */
const REVISIONS = new WeakMap<AgentPolicy, string>();

function revisionOf(policy: AgentPolicy): string {
  const known = REVISIONS.get(policy);
  if (known !== undefined) return known;
  const revision = digestOf(policy);
  REVISIONS.set(policy, revision);
  return revision;
}

/** Equal for equal judgements: exceptions end, and labels of the namespace change. */
const idOf = (policies: readonly AgentPolicy[], subject: Subject): string =>
  digestOf([
    ...[subject.namespace, subject.labels, subject.names],
    ...policies.map((policy) => [
      revisionOf(policy),
      ...policy.spec.rules.map((rule) => isExcepted(policy, rule, subject)),
    ]),
  ]);

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64');
