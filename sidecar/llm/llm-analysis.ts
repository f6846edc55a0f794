import { hash } from 'node:crypto';
import type { Facts } from '../../core/facts/facts.ts';
import type { GapReport, Issue } from '../../core/shapes/gap.ts';
import type { AnalysisState } from '../../core/shapes/analysis-state.ts';
import { cleanText } from '../../llm/analysis/analysis.ts';
import { issuesIn } from '../../llm/analysis/response.ts';
import { DailyBudget, type TokenUse } from '../../llm/analysis/daily-budget.ts';
import type { LlmAnalysisLimits } from '../../runtime/llm-analysis-fields.ts';
import { questionOf, type Question } from '../../llm/analysis/question.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { setNewest } from '../../core/untrusted/set-newest.ts';
import { responseOf } from '../../llm/json-response.ts';
import { gapAnalysisRequest } from '../../llm/prompts/gap-analysis.ts';
import type { CompletionRequest, CompletionResult, Provider } from '../../llm/provider.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';

export interface LlmAnalysisOptions {
  provider: Pick<Provider, 'complete'>;
  limits: LlmAnalysisLimits;
  clock: Clock;
  logger: Logger;
  /** Aborts when the sidecar stops. */
  signal: AbortSignal;
}

/** Hashes of what is sent. */
interface Key {
  manifest: string;
  /** Of the manifest and the report. */
  whole: string;
}

interface Wanted {
  key: Key;
  question: Question;
}

interface Analysis {
  manifestKey: string;
  issues: readonly Issue[];
  model: string;
  analysedAt: string;
}

interface Problem {
  status: 'failed' | 'budget';
  reason: string;
}

type Outcome = { status: 'ready'; issues: readonly Issue[]; model: string; usage: TokenUse } | Problem;

/** Milliseconds before a request, because the facts of a starting agent change several times. */
const SETTLE_MS = 10_000;
/** Milliseconds between two requests. */
const PAUSE_MS = 60_000;
/** Milliseconds after a failure; doubles up to the maximum. */
const RETRY_MS = 300_000;
const MAX_RETRY_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Analyses that are kept, so that an agent whose state changes back and forth costs nothing. */
const MAX_ANALYSES = 16;
/** Tokens are rarely shorter. */
const BYTES_PER_TOKEN = 2;
const MAX_REASON = 300;

/**
 * Adds issues of an LLM to gap reports. A report gets the issues that are already known, and never waits. Requests are sent in
 * the background, one at a time, and only after the manifest or a relevant fact has changed.
 */
export class LlmAnalysis {
  /** Analyses by result. `budget`: not sent because of today's limits. */
  readonly counts = { ready: 0, failed: 0, budget: 0 };
  readonly #options: LlmAnalysisOptions;
  readonly #budget: DailyBudget;
  readonly #analyses = new Map<string, Analysis>();
  #latest: Analysis | null = null;
  /** The newest report without an analysis. */
  #wanted: Wanted | null = null;
  #isWorking = false;
  #problem: Problem | null = null;
  /** Why the latest request failed; null: it did not. */
  #failure: string | null = null;
  #retryMs = RETRY_MS;
  /** Monotonic time before which no request is sent. */
  #notBeforeMs = -Infinity;

  constructor(options: LlmAnalysisOptions) {
    this.#options = options;
    this.#budget = new DailyBudget(options.limits);
  }

  /** Tokens and cost of the current UTC day. */
  get today(): TokenUse & { usd: number } {
    return this.#budget.today(this.#options.clock.now());
  }

  /** The report with the known issues of the LLM after its own. Without an analysis of this report, one is started. */
  review(manifest: Manifest, facts: Facts, gap: GapReport): { gap: GapReport; llm: AnalysisState } {
    const question = questionOf(manifest, facts, gap.issues);
    const key = keyOf(question);
    const current = this.#analyses.get(key.whole) ?? null;
    this.#latest = current ?? this.#latest;
    this.#wanted = current === null ? { key, question } : null;
    void this.#work();
    // Until the analysis ends, the issues of the previous one are shown, but never those of another manifest.
    const shown = this.#latest?.manifestKey === key.manifest ? this.#latest : null;
    const problem = current === null ? this.#problem : null;
    return {
      gap: { ...gap, issues: [...gap.issues, ...(shown?.issues ?? [])] },
      llm: {
        status: current === null ? (problem?.status ?? 'pending') : 'ready',
        model: shown?.model ?? null,
        analysedAt: shown?.analysedAt ?? null,
        reason: problem?.reason ?? null,
      },
    };
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    const { clock, signal } = this.#options;
    while (this.#wanted !== null) {
      const waitMs = Math.max(SETTLE_MS, this.#notBeforeMs - clock.monotonicMs());
      if (!(await slept(clock, waitMs, signal))) break;
      await this.#attempt();
    }
    this.#isWorking = false;
  }

  async #attempt(): Promise<void> {
    // null: the report has returned to a state with an analysis.
    const wanted = this.#wanted;
    if (wanted === null) return;
    const outcome = await this.#analyse(wanted.question).catch((error: unknown): Problem => ({
      status: 'failed',
      reason: describeError(error),
    }));
    if (this.#options.signal.aborted) return;
    this.counts[outcome.status]++;
    if (outcome.status === 'ready') this.#succeeded(wanted.key, outcome);
    else this.#stopped({ ...outcome, reason: cleanText(outcome.reason, MAX_REASON) });
  }

  async #analyse(question: Question): Promise<Outcome> {
    const { clock } = this.#options;
    const request = gapAnalysisRequest(question);
    const [most, at] = [mostOf(request), clock.now()];
    const refused = this.#budget.reserve(most, at);
    if (refused !== null) return { status: 'budget', reason: refused };
    const result = await this.#complete(request);
    if (!result.ok) return { status: 'failed', reason: result.reason };
    const { inputTokens: input = most.input, outputTokens: output = most.output } = result.usage ?? {};
    const usage = { input, output };
    this.#budget.settle(most, usage, at);
    const response = responseOf(result.text, (value) => issuesIn(value, question.properties));
    if (!response.ok) return { status: 'failed', reason: response.reason };
    return { status: 'ready', issues: response.value, model: cleanText(result.model, MAX_REASON), usage };
  }

  /** One request, bounded in time also if the provider ignores the signal. */
  async #complete(request: CompletionRequest): Promise<CompletionResult> {
    const { provider, clock, limits, signal } = this.#options;
    const [ended, timeLimit] = [new AbortController(), new AbortController()];
    const late: CompletionResult = { ok: false, reason: `no answer within ${limits.timeoutSeconds} seconds` };
    const timer = AbortSignal.any([signal, ended.signal]);
    const timedOut = slept(clock, limits.timeoutSeconds * 1_000, timer).then((hasPassed) => {
      if (hasPassed) timeLimit.abort();
      return late;
    });
    try {
      const options = { signal: AbortSignal.any([signal, timeLimit.signal]) };
      const result = await Promise.race([provider.complete(request, options), timedOut]);
      return timeLimit.signal.aborted ? late : result;
    } finally {
      ended.abort();
    }
  }

  #succeeded(key: Key, { issues, model, usage }: Extract<Outcome, { status: 'ready' }>): void {
    const { clock, logger } = this.#options;
    const analysis = { manifestKey: key.manifest, issues, model, analysedAt: clock.now().toISOString() };
    setNewest(this.#analyses, [key.whole, analysis], MAX_ANALYSES);
    this.#latest = analysis;
    if (this.#wanted?.key.whole === key.whole) this.#wanted = null;
    this.#problem = null;
    this.#failure = null;
    this.#retryMs = RETRY_MS;
    this.#notBeforeMs = clock.monotonicMs() + PAUSE_MS;
    logger.info('LLM analysis completed', { model, issues: issues.length, ...usage });
  }

  /** Logs one line per change. */
  #stopped({ status, reason: why }: Problem): void {
    const { clock, logger } = this.#options;
    const leftOfDayMs = DAY_MS - (clock.now().getTime() % DAY_MS);
    this.#notBeforeMs = clock.monotonicMs() + (status === 'budget' ? leftOfDayMs : this.#retryMs);
    // Failed requests also use up the limits, and the limits must not hide the failure.
    const last =
      status === 'budget' && this.#failure !== null ? `; the last request failed: ${this.#failure}` : '';
    const reason = why + last;
    if (status === 'failed') {
      this.#failure = why;
      this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
    }
    const isKnown = this.#problem?.status === status && this.#problem.reason === reason;
    this.#problem = { status, reason };
    if (isKnown) return;
    if (status === 'budget') logger.warn('LLM analysis paused, limit of the day reached', { reason });
    else logger.warn('LLM analysis failed, retrying', { reason });
  }
}

function keyOf({ manifest, report }: Question): Key {
  const manifestHash = hash('sha256', manifest);
  return { manifest: manifestHash, whole: hash('sha256', `${manifestHash}\n${report}`) };
}

/** The most that a request is expected to use. */
function mostOf({ system, prompt, maxTokens }: CompletionRequest): TokenUse {
  return { input: Math.ceil(Buffer.byteLength(system + prompt) / BYTES_PER_TOKEN), output: maxTokens };
}
