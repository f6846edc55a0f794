import { POLICY_UNAVAILABLE } from '../../core/egress/fail-modes.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import type { Frame, Json, ModelAnswer, ModelRequest, ModelWire } from '../../core/egress/model-wire.ts';
import { exactJson, jsonBodyText } from '../../core/egress/wires/exact-json.ts';
import { filterList } from '../../core/egress/wires/filter-list.ts';
import { jsonText } from '../../core/egress/wires/members.ts';
import type { EgressQuery } from '../../core/policy/egress-input.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { EgressVerdict } from '../policy/policy-evaluator.ts';
import type { LaneCallOptions } from './create-call.ts';
import { outcomeOf, strongest } from './egress-policy.ts';
import { jsonWith } from './json-with.ts';
import {
  NO_FACTS,
  type AnswerHead,
  type CallEnd,
  type CallFacts,
  type FramesStep,
  type LaneCall,
  type OwnResponse,
  type RequestStep,
  type Treatment,
  type WholeStep,
} from './lane-call.ts';
import { ModelStream } from './model-stream.ts';
import type { Amount } from './reservations.ts';
import { namesIn, shownName } from './shown-names.ts';
import { ToolVerdicts } from './tool-verdicts.ts';

/** Bytes of a request per token of its prompt, for calls whose usage is not known yet. */
const BYTES_PER_TOKEN = 4;

/** Text for the agent instead of the last forbidden call. */
const REMOVED = 'The policy of this agent removed the call of a tool.';

const NO_ANSWER: ModelAnswer = { model: null, toolCalls: [], usage: null, isComplete: false };

/** A call of a model. */
export class ModelCall implements LaneCall {
  readonly facts: CallFacts = { ...NO_FACTS };
  readonly #options: LaneCallOptions;
  readonly #wire: ModelWire;
  /** Created for a stream, or for the first answer with a tool call: most answers have none. */
  #verdicts: ToolVerdicts | null = null;
  #request: ModelRequest | null = null;
  #reserved: Amount | null = null;
  #answer = NO_ANSWER;
  #stream: ModelStream | null = null;
  #addedUsage = false;
  /** The body as the agent wrote it, until the vendor has accepted what the lane added. */
  #written: Buffer | null = null;
  /** The vendor refused the option, so the body was sent again without it. */
  #isRepeated = false;
  /** A denial removes calls, and the engine responds later, so verdicts must be requested before a filter needs them. */
  #isEngineRemote = false;
  /** The upstream served the call, so tokens were used. */
  #isServed = false;

  constructor(options: LaneCallOptions, wire: ModelWire) {
    this.#options = options;
    this.#wire = wire;
    this.facts.model = shownName(options.route.model);
    this.facts.isStream = options.route.isStream;
  }

  #needVerdicts(): ToolVerdicts {
    const { policy, route, entry } = this.#options;
    return (this.#verdicts ??= new ToolVerdicts(policy, route.lane, () => entry?.userConfirmed));
  }

  request(body: unknown, raw: Buffer): RequestStep | Promise<RequestStep> {
    if (!isRecord(body)) {
      this.#options.onUnread('form');
      return stepOf(this.unreadRequest(raw.length), raw);
    }
    const request = this.#wire.readRequest(body, this.#options.route);
    const { names } = this.#options;
    this.#request = request;
    this.facts.model = shownName(request.model);
    this.facts.isStream = request.isStream;
    this.facts.toolsOffered = namesIn(toolsOf(request));
    this.facts.toolsExecuted = namesIn(
      request.toolResults.map(({ callId, name }) => name ?? names.of(callId)),
    );
    const denied = this.#judgeRequest(request, raw.length);
    return stepOf(denied, this.#prepared(body, raw));
  }

  unreadRequest(bytes: number | null): OwnResponse | null | Promise<OwnResponse | null> {
    const { model, isStream } = this.#options.route;
    return this.#judgeRequest({ ...UNREAD, model, isStream }, bytes ?? 0);
  }

  refused(status: number): Buffer | null {
    const written = REFUSALS.has(status) ? this.#written : null;
    this.#written = null;
    if (written === null) return null;
    this.#addedUsage = false;
    this.#isRepeated = true;
    return written;
  }

  head({ status, contentType, isEncoded, coding }: AnswerHead): Treatment {
    this.#isServed = status >= 200 && status < 300;
    if (!this.#isServed) return { kind: 'unread' };
    if (this.#isRepeated) this.#options.refused.add(this.#options.route, this.facts.model);
    const format = FORMATS[contentType];
    // Where nothing is removed, the bytes of the vendor pass.
    const isReadable = !isEncoded || (coding !== null && this.#options.policy.blocks);
    if (!isReadable || format === undefined) return { kind: 'unread', reason: 'form' };
    if (format === 'json') return { kind: 'whole', coding };
    this.#stream = new ModelStream({
      ...{ wire: this.#wire, verdicts: this.#needVerdicts(), removeUsage: this.#addedUsage },
      ...{ keep: this.#options.keep, isEngineRemote: this.#isEngineRemote },
      isFailing: this.#isFailing,
      message: REMOVED,
      blocks: this.#options.policy.blocks,
      onUnread: () => this.#noteUnread(),
      deny: () => this.#denyAnswer(),
      errorFrame: () => this.#errorFrame(),
    });
    return { kind: 'frames', format, isHeld: this.#isFailing, coding };
  }

  whole(body: unknown, raw: Buffer): WholeStep | Promise<WholeStep> {
    // Streams of Gemini that are not server-sent events are a list.
    if (!isRecord(body) && !Array.isArray(body)) {
      this.#options.onUnread('form');
      return { body: null };
    }
    const answer: Json | readonly unknown[] = body;
    this.#answer = this.#read(answer);
    if (this.#answer.toolCalls.length === 0) return { body: null };
    const verdicts = this.#needVerdicts();
    verdicts.collectAll(this.#answer);
    const { pending } = verdicts;
    const decide = (): WholeStep => this.#decideWhole(answer, raw);
    return pending === null ? decide() : pending.then(decide);
  }

  part(body: unknown): OwnResponse | null | Promise<OwnResponse | null> {
    if (!this.#options.policy.blocks || this.#wire.name === 'embeddings') return null;
    if (!isRecord(body) && !Array.isArray(body)) return this.#denyUnread();
    this.#answer = this.#read(body);
    const { toolCalls } = this.#answer;
    const verdicts = this.#needVerdicts();
    verdicts.collectAll({ toolCalls, isComplete: true });
    const { pending } = verdicts;
    const decide = (): OwnResponse | null =>
      toolCalls.some((call) => verdicts.judge(call) !== 'pass') ? this.#denyAnswer() : null;
    return pending === null ? decide() : pending.then(decide);
  }

  #read(body: Json | readonly unknown[]): ModelAnswer {
    return isRecord(body)
      ? this.#wire.readAnswer(body)
      : filterList(this.#wire, body, { judge: () => 'pass', message: REMOVED, removeUsage: false }).answer;
  }

  #decideWhole(body: Json | readonly unknown[], raw: Buffer): WholeStep {
    this.#noteVerdicts();
    if (!this.#options.policy.blocks || this.#stripped(body) === null) return { body: null };
    this.facts.isBlocked = true;
    const text = this.#isFailing ? null : jsonText(this.#stripped(exactJson(body, jsonBodyText(raw))));
    return text === null ? { respond: this.#denyAnswer() } : { body: text };
  }

  /** The body without forbidden calls; null: it has none. */
  #stripped(body: Json | readonly unknown[]): Json | readonly unknown[] | null {
    const { judge } = this.#needVerdicts();
    return isRecord(body)
      ? (this.#wire.strip(body, judge, REMOVED)?.body ?? null)
      : filterList(this.#wire, body, { judge, message: REMOVED, removeUsage: false }).body;
  }

  frames(frames: readonly Frame[], isEnd: boolean): FramesStep | Promise<FramesStep> {
    const step = this.#stream?.push(frames, isEnd) ?? { frames };
    if (step instanceof Promise) return step.then((late) => this.#noted(late));
    return this.#noted(step);
  }

  #noted(step: FramesStep): FramesStep {
    if (this.#stream?.hasRemoved === true) this.facts.isBlocked = true;
    this.#noteVerdicts();
    return step;
  }

  end({ status, isAborted }: CallEnd): void | Promise<void> {
    const answer = this.#stream?.answer ?? this.#answer;
    for (const { id, name } of answer.toolCalls) this.#options.names.add(id, name);
    this.facts.toolsCalled = namesIn(answer.toolCalls.map(({ name }) => name));
    const { usage } = answer;
    this.facts.usage = usage === null ? null : this.#options.withCost(this.facts.model, usage);
    // A vendor may have finished a call whose agent did not wait for it.
    const isUsed = this.#isServed || (isAborted && status === null && !this.facts.isBlocked);
    this.facts.isUsageUnknown = isUsed && usage === null;
    if (this.#reserved !== null)
      this.#options.reservations.settle(this.#reserved, !this.facts.isUsageUnknown);
    this.#stream?.close();
    if (this.#verdicts === null && answer.toolCalls.length === 0) return;
    // In the mode track, the calls of a stream are judged only now.
    const verdicts = this.#needVerdicts();
    verdicts.collectAll(answer);
    const { pending } = verdicts;
    if (pending === null) this.#noteVerdicts();
    else return pending.then(() => this.#noteVerdicts());
  }

  /** A forbidden call cannot be removed, because the vendor keeps it, or because the agent must notice. */
  get #isFailing(): boolean {
    const { policy, onForbiddenTool } = this.#options;
    return policy.blocks && (onForbiddenTool === 'fail' || this.#request?.isStateful === true);
  }

  /** Reserves the tokens of the call and evaluates it. null: the request passes. */
  #judgeRequest(request: ModelRequest, bytes: number): OwnResponse | null | Promise<OwnResponse | null> {
    const { policy, reservations } = this.#options;
    this.#reserved = reservations.reserve(this.#amountOf(request, bytes));
    const { tokens, usd } = reservations.total;
    const query: EgressQuery = {
      request_type: 'egress_model_request',
      reserved_tokens: tokens,
      reserved_usd: usd,
    };
    if (request.model !== null) query.model = request.model;
    if (this.#request !== null) query.tools = toolsOf(request);
    const verdict = policy.evaluate(query, this.#options.route.lane);
    this.#isEngineRemote = policy.blocks && verdict instanceof Promise;
    return verdict instanceof Promise
      ? verdict.then((late) => this.#decideRequest(late))
      : this.#decideRequest(verdict);
  }

  #decideRequest(verdict: EgressVerdict): OwnResponse | null {
    this.facts.outcome = outcomeOf(verdict);
    this.facts.violations = verdict.violations;
    if (verdict.violations.length === 0 || !this.#options.policy.blocks) return null;
    this.facts.isBlocked = true;
    return this.#denial(verdict.violations);
  }

  #amountOf({ model, maxOutputTokens }: ModelRequest, bytes: number): Amount {
    const promptTokens = Math.ceil(bytes / BYTES_PER_TOKEN);
    const completionTokens = Math.max(0, maxOutputTokens ?? 0);
    const usage = {
      promptTokens,
      completionTokens,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    };
    const { costUsd = 0 } = this.#options.withCost(model, usage);
    return { tokens: promptTokens + completionTokens, usd: costUsd };
  }

  /** The body with the option that makes the vendor state the usage of a stream. */
  #prepared(body: Json, raw: Buffer): Buffer {
    const { route, refused } = this.#options;
    if (rejectsOptions(route.lane, route.upstreamPath) || this.#wire.prepare(body) === null) return raw;
    if (refused.has(route, this.facts.model)) return raw;
    const exact = exactJson(body, jsonBodyText(raw));
    const prepared = this.#wire.prepare(exact);
    const next = prepared === null ? null : jsonWith(raw, exact, prepared.body);
    if (prepared === null || next === null) return raw;
    this.#addedUsage = prepared.addedUsage;
    this.#written = raw;
    return next;
  }

  #noteVerdicts(): void {
    if (this.#verdicts === null) return;
    const { violations, outcome } = this.#verdicts;
    if (outcome === 'notEvaluated') return;
    if (violations.size > 0) this.facts.violations = [...new Set([...this.facts.violations, ...violations])];
    this.facts.outcome = strongest(this.facts.outcome, outcome);
  }

  /** Without a verdict, as if the engine could not evaluate it. */
  #denyUnread(): OwnResponse {
    this.#noteUnread();
    return this.#denyAnswer();
  }

  #noteUnread(): void {
    this.facts.violations = [...new Set([...this.facts.violations, POLICY_UNAVAILABLE])];
    this.facts.outcome = 'deny';
  }

  #denyAnswer(): OwnResponse {
    this.#noteVerdicts();
    this.facts.isBlocked = true;
    return this.#denial(this.facts.violations);
  }

  #errorFrame(): string {
    this.#noteVerdicts();
    this.facts.isBlocked = true;
    const [code = 'policy_violation'] = this.facts.violations;
    return this.#wire.streamError(code, this.#messageOf(this.facts.violations));
  }

  #denial(violations: readonly string[]): OwnResponse {
    const [code = 'policy_violation'] = violations;
    const body = JSON.stringify(this.#wire.denialBody(code, this.#messageOf(violations)));
    return { status: 403, headers: ['Content-Type', 'application/json'], body };
  }

  #messageOf(violations: readonly string[]): string {
    const tools = this.#options.policy.undeclaredIn(toolsOf(this.#request ?? UNREAD));
    const details = [
      violations.includes('model_not_declared') && this.facts.model !== null
        ? `model ${this.facts.model}`
        : '',
      violations.includes('tool_not_declared') && tools.length > 0
        ? `tools ${namesIn(tools).join(', ')}`
        : '',
    ].filter((text) => text !== '');
    const about = details.length === 0 ? '' : ` (${details.join('; ')})`;
    return `The policy of this agent denies the call: ${violations.join(', ')}${about}`;
  }
}

/** All tools of a request. */
function toolsOf({ toolsOffered, vendorTools }: ModelRequest): readonly string[] {
  return vendorTools.length === 0 ? toolsOffered : [...toolsOffered, ...vendorTools];
}

/** The facts of a request that passes unread. */
const UNREAD: ModelRequest = {
  ...{ model: null, isStream: false, maxOutputTokens: null, isStateful: false },
  ...{ toolsOffered: [], vendorTools: [], toolResults: [] },
};

/** The first version of the API of Azure with `stream_options`. */
const AZURE_WITH_OPTIONS = '2024-09-01';

/** Mistral rejects unknown options, and states the usage always. */
function rejectsOptions({ kind }: Lane, path: string): boolean {
  if (kind !== 'azure') return kind === 'mistral';
  const [, version = AZURE_WITH_OPTIONS] = /[?&]api-version=(\d{4}-\d{2}-\d{2})/.exec(path) ?? [];
  return version < AZURE_WITH_OPTIONS;
}

/** Statuses with which servers refuse an unknown option. */
const REFUSALS: ReadonlySet<number> = new Set([400, 415, 422]);

/** The content types of answers. */
const FORMATS: Readonly<Record<string, 'json' | 'sse' | 'ndjson'>> = {
  'application/json': 'json',
  'text/event-stream': 'sse',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
};

function stepOf(
  denied: OwnResponse | null | Promise<OwnResponse | null>,
  body: Buffer,
): RequestStep | Promise<RequestStep> {
  const step = (response: OwnResponse | null): RequestStep =>
    response === null ? { send: body } : { respond: response };
  return denied instanceof Promise ? denied.then(step) : step(denied);
}
