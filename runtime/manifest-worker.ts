import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { AgentPolicy, Judgement, Subject } from '../core/organisation/finding.ts';
import {
  expressionsFor,
  expressionVariables,
  type ExpressionResult,
  type judge,
  type JudgedPart,
} from '../core/organisation/judge.ts';
import type { ParsedManifest } from '../core/manifest/manifest.ts';
import { isRecord } from '../core/untrusted/fields.ts';
import { IS_BUNDLE } from './version.ts';

/** Limit of parsing and of judging. */
const MANIFEST_MS = 2_000;
/** No engine of CEL for JavaScript limits the cost of an expression. */
const EXPRESSION_MS = 250;
/** The first use starts the thread. */
const START_MS = 5_000;
const MAX_WAITING = 500;

export type Job =
  | { kind: 'parse'; text: string }
  | { kind: 'judge'; of: Parameters<typeof judge> }
  | { kind: 'syntax'; expression: string }
  | { kind: 'expression'; expression: string; variables: Record<string, unknown> };

/** The first message of the thread. */
export interface Started {
  isStarted: true;
}

interface Waiting {
  job: Job;
  resolve: (result: unknown) => void;
}

/** Why the thread returned no result. */
const STOPPED = Symbol('stopped');

/** Bundles are next to each other. A process that runs from source has the source. */
const SCRIPT = join(
  import.meta.dirname,
  IS_BUNDLE ? '../manifest-worker/main.js' : 'manifest-worker/main.ts',
);

/**
 * Parses manifests and evaluates expressions in a thread, one after the other, so that a hostile manifest delays nothing else of the
 * process. A job that takes too long or needs too much memory ends the thread; the next job starts another one.
 */
export class ManifestWorker {
  #worker: Worker | null = null;
  #isReady = false;
  /** Restarts the time of the current job. */
  #started: () => void = () => undefined;
  readonly #expressionMs: number;
  readonly #waiting: Waiting[] = [];
  /** Ends the current job; null: there is none. */
  #finish: ((result: unknown) => void) | null = null;

  /** @param expressionMs limit of one evaluation */
  constructor({ expressionMs = EXPRESSION_MS }: { expressionMs?: number } = {}) {
    this.#expressionMs = expressionMs;
  }

  /** null: it takes more than 2 seconds, or too many manifests wait. */
  async parse(text: string): Promise<ParsedManifest | null> {
    const result = await this.#run({ kind: 'parse', text });
    return result === STOPPED ? null : (result as ParsedManifest);
  }

  /**
   * The judgement with the results of its expressions. The author decides how many names are compared with the patterns of every rule.
   * null: as `parse`.
   */
  async judge(
    policies: readonly AgentPolicy[],
    subject: Subject,
    part?: JudgedPart,
  ): Promise<Judgement | null> {
    const expressions = expressionsFor(policies, subject);
    const results = await this.evaluateAll(expressions, expressionVariables(subject));
    const result = await this.#run({ kind: 'judge', of: [policies, subject, results, part] });
    return result === STOPPED ? null : (result as Judgement);
  }

  /** Never rejects: an expression that cannot be evaluated has an error. @param variables JSON values */
  async evaluate(expression: string, variables: Record<string, unknown>): Promise<ExpressionResult> {
    const result = await this.#evaluate(expression, variables);
    return result ?? this.#tooLong;
  }

  get #tooLong(): ExpressionResult {
    return { error: `it needs more than ${this.#expressionMs} ms or too much memory` };
  }

  /** null: it was ended. */
  async #evaluate(expression: string, variables: Record<string, unknown>): Promise<ExpressionResult | null> {
    const job: Job = { kind: 'expression', expression, variables };
    const first = await this.#run(job);
    // On a busy machine a thread may not run for so long. A hostile expression ends the second thread as well.
    const result = first === STOPPED ? await this.#run(job) : first;
    return result === STOPPED ? null : (result as ExpressionResult);
  }

  /** Why an expression cannot be parsed; null: it can. */
  async syntaxError(expression: string): Promise<string | null> {
    const result = await this.#run({ kind: 'syntax', expression });
    return result === STOPPED ? 'it takes too long to parse' : (result as string | null);
  }

  /**
   * The results of several expressions. After one that was ended the others have errors, because the author of the manifest decides how
   * long they take, and other manifests wait.
   */
  async evaluateAll(
    expressions: readonly string[],
    variables: Record<string, unknown>,
  ): Promise<Map<string, ExpressionResult>> {
    const results = new Map<string, ExpressionResult>();
    let reason: string | null = null;
    for (const expression of expressions) {
      const result = reason === null ? await this.#evaluate(expression, variables) : { error: reason };
      results.set(expression, result ?? this.#tooLong);
      if (result === null) reason = 'another expression needs too much time or memory';
    }
    return results;
  }

  async close(): Promise<void> {
    for (const { resolve } of this.#waiting.splice(0)) resolve(STOPPED);
    await this.#worker?.terminate();
  }

  #run(job: Job): Promise<unknown> {
    if (this.#waiting.length >= MAX_WAITING) return Promise.resolve(STOPPED);
    return new Promise((resolve) => {
      this.#waiting.push({ job, resolve });
      this.#next();
    });
  }

  #next(): void {
    const next = this.#finish === null ? this.#waiting.shift() : undefined;
    if (next === undefined) return;
    const worker = (this.#worker ??= this.#start());
    const limit = next.job.kind === 'expression' ? this.#expressionMs : MANIFEST_MS;
    const start = (ms: number): NodeJS.Timeout => setTimeout(() => this.#finish?.(STOPPED), ms);
    let timer = start(this.#isReady ? limit : limit + START_MS);
    this.#started = () => {
      clearTimeout(timer);
      timer = start(limit);
    };
    this.#finish = (result) => {
      clearTimeout(timer);
      this.#finish = null;
      this.#isReady = result !== STOPPED;
      if (result === STOPPED) {
        this.#worker = null;
        void worker.terminate();
      } else worker.unref();
      next.resolve(result);
      this.#next();
    };
    worker.ref();
    worker.postMessage(next.job);
  }

  #start(): Worker {
    const worker = new Worker(SCRIPT, {
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
      // Options such as --max-old-space-size of the process are not options of a thread.
      execArgv: [],
      env: {},
    });
    const finish = (result: unknown): void => {
      if (this.#worker === worker) this.#finish?.(result);
    };
    worker.on('message', (message: unknown) => {
      if (!isStart(message)) finish(message);
      else if (this.#worker === worker) this.#started();
    });
    // Out of memory, or a missing script.
    worker.on('error', () => finish(STOPPED));
    worker.on('exit', () => finish(STOPPED));
    return worker;
  }
}

const isStart = (message: unknown): message is Started => isRecord(message) && 'isStarted' in message;
