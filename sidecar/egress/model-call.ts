import { toolsOf } from '../../core/egress/model-wire.ts';
import type { Frame, Json, ModelResponse, ModelRequest, ModelWire } from '../../core/egress/model-wire.ts';
import { BODY_UNREAD } from '../../core/egress/fail-modes.ts';
import { exactJson } from '../../core/egress/wires/exact-json.ts';
import { responseIn, filterList } from '../../core/egress/wires/filter-list.ts';
import { jsonText } from '../../core/egress/wires/members.ts';
import type { EgressQuery } from '../../core/policy/egress-input.ts';
import { isRecord } from '../../core/untrusted/fields.ts';
import type { EgressDecision } from '../policy/policy-evaluator.ts';
import { after } from './after.ts';
import type { LaneCallOptions } from './create-call.ts';
import { denialMessage } from './denial-message.ts';
import { outcomeOf, strongest } from './egress-policy.ts';
import type { JsonBody } from './json-body.ts';
import { framesInBody } from './frames-in-body.ts';
import {
  NO_FACTS,
  type LaneHead,
  type CallEnd,
  type CallFacts,
  type FramesStep,
  type LaneCall,
  type OwnResponse,
  type RequestStep,
  type Treatment,
  type WholeStep,
} from './lane-call.ts';
import { ModelStream, REMOVED } from './model-stream.ts';
import { NamedModels } from './named-models.ts';
import { amountOf, type Amount } from './reservations.ts';
import { namesIn, shownName } from './shown-names.ts';
import { ToolDecisions } from './tool-decisions.ts';
import { UsageOption } from './usage-option.ts';

const NO_RESPONSE: ModelResponse = { model: null, toolCalls: [], usage: null, isComplete: false };

/** A call of a model. */
export class ModelCall implements LaneCall {
  readonly facts: CallFacts = { ...NO_FACTS };
  readonly #options: LaneCallOptions;
  readonly #wire: ModelWire;
  readonly #models: NamedModels;
  readonly #usageOption: UsageOption;
  /** Created for a stream, or for the first response with a tool call: most responses have none. */
  #decisions: ToolDecisions | null = null;
  #request: ModelRequest | null = null;
  #reserved: Amount | null = null;
  #response = NO_RESPONSE;
  #stream: ModelStream | null = null;
  /** A denial removes calls, and the engine responds later, so decisions must be requested before a filter needs them. */
  #isEngineRemote = false;
  /** The upstream served the call, so tokens were used. */
  #isServed = false;

  constructor(options: LaneCallOptions, wire: ModelWire) {
    this.#options = options;
    this.#wire = wire;
    this.#models = new NamedModels(options.policy, options.route, wire);
    this.#usageOption = new UsageOption(wire, options.route, options.refused);
    this.facts.model = shownName(options.route.model);
    this.facts.isStream = options.route.isStream;
  }

  #needDecisions(): ToolDecisions {
    const { policy, route, entry } = this.#options;
    return (this.#decisions ??= new ToolDecisions(policy, route.lane, () => entry?.userConfirmed));
  }

  request(read: JsonBody, raw: Buffer): RequestStep | Promise<RequestStep> {
    const { value: body } = read;
    if (!isRecord(body)) {
      this.#options.onUnread('form');
      return stepOf(this.unreadRequest(raw.length), raw);
    }
    const request = this.#wire.readRequest(body, this.#options.route);
    const { names } = this.#options;
    this.#request = request;
    this.facts.model = shownName(request.model);
    this.#models.read(body, request.model);
    this.facts.otherModels = namesIn(this.#models.others);
    this.facts.isStream = request.isStream;
    this.facts.toolsOffered = namesIn(toolsOf(request));
    this.facts.toolsExecuted = namesIn(
      request.toolResults.map(({ callId, name }) => name ?? names.of(callId)),
    );
    const denied = this.#judgeRequest(request, raw.length);
    return stepOf(
      denied,
      read.isPlain ? this.#usageOption.addTo(body, { text: read.text, raw, model: this.facts.model }) : raw,
    );
  }

  unreadRequest(bytes: number | null): OwnResponse | null | Promise<OwnResponse | null> {
    const { model, isStream } = this.#options.route;
    const denied = this.#judgeRequest({ ...UNREAD, model, isStream }, bytes ?? 0);
    return after(denied, (known) => known ?? this.unreadResponse());
  }

  unreadResponse(): OwnResponse | null {
    const { policy, route } = this.#options;
    if (!policy.deniesUnread(route.lane)) return null;
    this.#noteUnread();
    return this.#denyResponse();
  }

  refused(status: number): Buffer | null {
    return this.#usageOption.refusedBy(status);
  }

  head({ status, contentType, format: found }: LaneHead): Treatment {
    this.#isServed = status >= 200 && status < 300;
    if (!this.#isServed) return { kind: 'unread' };
    this.#usageOption.served(this.facts.model);
    // A stream of Ollama begins like one document.
    const isLines = found === 'json' && contentType !== JSON_TYPE && this.#wire.name === 'ollama';
    const format = isLines && this.facts.isStream ? 'ndjson' : found;
    if (format === null) return { kind: 'unread', reason: 'form' };
    const { mode, blocks } = this.#options.policy;
    // In the mode track, the head of a response names the violations of its calls. Embeddings have no calls.
    const isCopied = mode === 'off' || (!blocks && this.#wire.name === 'embeddings');
    if (format === 'json') return { kind: 'whole', isCopied, isDecoded: blocks };
    this.#stream = new ModelStream({
      ...{ wire: this.#wire, decisions: this.#needDecisions(), removeUsage: this.#usageOption.isAdded },
      ...{ keep: this.#options.keep, isEngineRemote: this.#isEngineRemote },
      isFailing: this.#isFailing,
      ...{ blocks, failsClosed: this.#options.policy.deniesUnread(this.#options.route.lane) },
      onUnread: () => this.#noteUnread(),
      deny: () => this.#denyResponse(),
      errorFrame: () => this.#errorFrame(),
    });
    return {
      kind: 'frames',
      format,
      isHeld: this.#isFailing,
      isCopied: !blocks && !this.#usageOption.isAdded,
    };
  }

  whole(read: JsonBody): WholeStep | Promise<WholeStep> {
    const { value: body, text } = read;
    this.#stream = null;
    // Streams of Gemini that are not server-sent events are a list.
    if (!isRecord(body) && !Array.isArray(body)) return this.#wholeStream(read);
    const response: Json | readonly unknown[] = isRecord(body) ? body : exactJson(body, text);
    this.#response = responseIn(this.#wire, response);
    const decision = isRecord(response) ? this.#models.evaluateResponse(response) : null;
    return after(decision, (known) =>
      this.#denies(known) ? { respond: this.#denyResponse() } : this.#judgeWhole(response, text),
    );
  }

  /** A body that is not a document. */
  #wholeStream(read: JsonBody): WholeStep | Promise<WholeStep> {
    const stream = read.value === undefined ? framesInBody(read) : null;
    if (stream === null) {
      this.#options.onUnread('form');
      const respond = this.unreadResponse();
      return respond === null ? { body: null } : { respond };
    }
    this.head({ status: 200, contentType: '', format: stream.format });
    return after(this.frames(stream.frames, true), (step) => {
      if ('respond' in step) return step;
      const bytes = Buffer.concat(step.frames.map(({ raw }) => raw));
      return { body: bytes.equals(read.bytes) ? null : bytes };
    });
  }

  /** Notes the decision on what the response names; null: nothing. true: the response is not sent. */
  #denies(decision: EgressDecision | null): boolean {
    if (decision === null) return false;
    this.facts.model ??= shownName(this.#models.inResponse?.model ?? null);
    this.facts.outcome = strongest(this.facts.outcome, outcomeOf(decision));
    this.facts.violations = [...new Set([...this.facts.violations, ...decision.violations])];
    const isDenied = decision.violations.length > 0 && this.#options.policy.blocks;
    if (isDenied) this.facts.isBlocked = true;
    return isDenied;
  }

  #judgeWhole(response: Json | readonly unknown[], text: string): WholeStep | Promise<WholeStep> {
    if (this.#response.toolCalls.length === 0) return { body: null };
    const decisions = this.#needDecisions();
    decisions.collectAll(this.#response);
    return after(decisions.pending, () => this.#decideWhole(response, text));
  }

  part({ value: body }: JsonBody): OwnResponse | null | Promise<OwnResponse | null> {
    if (!this.#options.policy.blocks || this.#wire.name === 'embeddings') return null;
    if (!isRecord(body) && !Array.isArray(body)) {
      this.#options.onUnread('size');
      return this.unreadResponse();
    }
    this.#response = responseIn(this.#wire, body);
    const decision = isRecord(body) ? this.#models.evaluateResponse(body) : null;
    return after(decision, (known) => (this.#denies(known) ? this.#denyResponse() : this.#judgePart()));
  }

  #judgePart(): OwnResponse | null | Promise<OwnResponse | null> {
    const { toolCalls } = this.#response;
    const decisions = this.#needDecisions();
    decisions.collectAll({ toolCalls, isComplete: true });
    return after(decisions.pending, () =>
      toolCalls.some((call) => decisions.judge(call) !== 'pass') ? this.#denyResponse() : null,
    );
  }

  #decideWhole(body: Json | readonly unknown[], known: string): WholeStep {
    this.#noteDecisions();
    if (!this.#options.policy.blocks || this.#stripped(body) === null) return { body: null };
    this.facts.isBlocked = true;
    const text = this.#isFailing ? null : jsonText(this.#stripped(exactJson(body, known)));
    return text === null ? { respond: this.#denyResponse() } : { body: text };
  }

  /** The body without forbidden calls; null: it has none. */
  #stripped(body: Json | readonly unknown[]): Json | readonly unknown[] | null {
    const { judge } = this.#needDecisions();
    return isRecord(body)
      ? this.#wire.strip(body, judge, REMOVED)
      : filterList(this.#wire, body, { judge, message: REMOVED, removeUsage: false }).body;
  }

  frames(frames: readonly Frame[], isEnd: boolean): FramesStep | Promise<FramesStep> {
    return after(this.#models.evaluateFrames(frames), (known) =>
      this.#denies(known) ? this.#failedStream() : this.#pushFrames(frames, isEnd),
    );
  }

  #failedStream(): FramesStep {
    if (this.#isFailing) return { respond: this.#denyResponse() };
    const error: Frame = { raw: Buffer.from(this.#errorFrame()), event: null, data: null };
    return { frames: [error], isOver: true };
  }

  #pushFrames(frames: readonly Frame[], isEnd: boolean): FramesStep | Promise<FramesStep> {
    return after(this.#stream?.push(frames, isEnd) ?? { frames }, (step) => {
      if (this.#stream?.hasRemoved === true) this.facts.isBlocked = true;
      this.#noteDecisions();
      return step;
    });
  }

  end({ status, isAborted }: CallEnd): void | Promise<void> {
    const response = this.#stream?.response ?? this.#response;
    for (const { id, name } of response.toolCalls) this.#options.names.add(id, name);
    this.facts.toolsCalled = namesIn(response.toolCalls.map(({ name }) => name));
    const { usage } = response;
    this.facts.model = shownName(this.#models.ran(this.facts.model, response.model));
    this.facts.usage = usage === null ? null : this.#options.withCost(this.facts.model, usage);
    // A vendor may have finished a call whose agent did not wait for it.
    const isUsed = this.#isServed || (isAborted && status === null && !this.facts.isBlocked);
    this.facts.isUsageUnknown = isUsed && usage === null;
    if (this.#reserved !== null)
      this.#options.reservations.settle(this.#reserved, !this.facts.isUsageUnknown);
    this.#stream?.close();
    if (this.#decisions === null && response.toolCalls.length === 0) return;
    // In the mode track, the calls of a stream are judged only now.
    const decisions = this.#needDecisions();
    decisions.collectAll(response);
    const { pending } = decisions;
    if (pending === null) this.#noteDecisions();
    else return pending.then(() => this.#noteDecisions());
  }

  /** A forbidden call cannot be removed, because the vendor keeps it, or because the agent must notice. */
  get #isFailing(): boolean {
    const { policy, onForbiddenTool } = this.#options;
    return policy.blocks && (onForbiddenTool === 'fail' || this.#request?.isStateful === true);
  }

  /** Reserves the tokens of the call and evaluates it. null: the request passes. */
  #judgeRequest(request: ModelRequest, bytes: number): OwnResponse | null | Promise<OwnResponse | null> {
    const { policy, reservations } = this.#options;
    this.#reserved = reservations.reserve(amountOf(request, bytes, this.#options.withCost));
    const { tokens, usd } = reservations.total;
    const query: EgressQuery = {
      request_type: 'egress_model_request',
      reserved_tokens: tokens,
      reserved_usd: usd,
    };
    if (request.model !== null) query.model = request.model;
    if (this.#request !== null) query.tools = toolsOf(request);
    const decision = this.#models.evaluate(query, request.vendorTools);
    // An engine that is unreachable now may be reachable again when the response arrives.
    this.#isEngineRemote = policy.blocks && (decision instanceof Promise || decision.state === 'unreachable');
    return after(decision, (known) => this.#decideRequest(known));
  }

  #decideRequest(decision: EgressDecision): OwnResponse | null {
    this.facts.outcome = outcomeOf(decision);
    this.facts.violations = decision.violations;
    if (decision.violations.length === 0 || !this.#options.policy.blocks) return null;
    this.facts.isBlocked = true;
    return this.#denial(decision.violations);
  }

  #noteDecisions(): void {
    if (this.#decisions === null) return;
    const { violations, outcome } = this.#decisions;
    if (outcome === 'notEvaluated') return;
    if (violations.size > 0) this.facts.violations = [...new Set([...this.facts.violations, ...violations])];
    this.facts.outcome = strongest(this.facts.outcome, outcome);
  }

  #noteUnread(): void {
    this.facts.violations = [...new Set([...this.facts.violations, BODY_UNREAD])];
    this.facts.outcome = 'deny';
  }

  #denyResponse(): OwnResponse {
    this.#noteDecisions();
    this.facts.isBlocked = true;
    return this.#denial(this.facts.violations);
  }

  #errorFrame(): string {
    this.#noteDecisions();
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
    const { model, otherModels: others } = this.facts;
    return denialMessage(this.#options.policy, violations, {
      models: model === null ? others : [model, ...others],
      offered: this.#models.inResponse ?? this.#request ?? UNREAD,
    });
  }
}

/** The facts of a request that passes unread. */
const UNREAD: ModelRequest = {
  ...{ model: null, isStream: false, maxOutputTokens: null, isStateful: false },
  ...{ toolsOffered: [], vendorTools: [], toolResults: [] },
};

const JSON_TYPE = 'application/json';

function stepOf(
  denied: OwnResponse | null | Promise<OwnResponse | null>,
  body: Buffer,
): RequestStep | Promise<RequestStep> {
  return after(denied, (respond) => (respond === null ? { send: body } : { respond }));
}
