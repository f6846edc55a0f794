import { BODY_UNREAD } from '../../core/egress/fail-modes.ts';
import { addressOnLane } from '../../core/egress/lane-addresses.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import {
  hasOtherSpelling,
  mcpDenial,
  mcpRefusal,
  readMcpResponses,
  readMcpRequest,
  type McpResponse,
  type McpRequest,
  type McpToolCall,
  type RpcId,
} from '../../core/egress/mcp-messages.ts';
import { isUnread, type Frame } from '../../core/egress/model-wire.ts';
import { exactJson, readJson } from '../../core/egress/wires/exact-json.ts';
import { argumentsText } from '../../core/egress/wires/members.ts';
import type { EgressDecision } from '../policy/policy-evaluator.ts';
import { after } from './after.ts';
import { outcomeOf, type EgressPolicy } from './egress-policy.ts';
import type { JsonBody } from './json-body.ts';
import {
  NO_FACTS,
  type LaneHead,
  type CallFacts,
  type FramesStep,
  type LaneCall,
  type OwnResponse,
  type RequestStep,
  type Treatment,
  type UnreadReason,
  type WholeStep,
} from './lane-call.ts';
import type { McpMemory, OnResponse } from './mcp-memory.ts';

export interface McpCallOptions {
  lane: Lane;
  /** Path and query as the client sent them. */
  target: string;
  policy: EgressPolicy;
  memory: McpMemory;
  /** Called when a body passes unread. */
  onUnread(reason: UnreadReason): void;
  /** Whether the user confirmed the actions of the agent's current request; undefined: not reported. */
  userConfirmed: () => boolean | undefined;
}

/** Names of the tools in one call that are recorded. */
const MAX_NAMES = 100;

/** A call of an MCP server over streamable HTTP, or over the older HTTP+SSE transport. */
export class McpCall implements LaneCall {
  readonly facts: CallFacts = { ...NO_FACTS };
  readonly #options: McpCallOptions;
  /** The requests without a response. */
  readonly #waiting = new Map<RpcId, OnResponse>();
  #write: ((bytes: string) => void) | null = null;
  /** The path to which messages of this stream are sent; null: not an HTTP+SSE stream, or not announced yet. */
  #endpoint: string | null = null;
  /** The first event may announce the path: of a GET, before its first event with data. */
  #mayAnnounce = false;

  constructor(options: McpCallOptions) {
    this.#options = options;
  }

  request({ value: body, text, isStrict }: JsonBody, raw: Buffer): RequestStep | Promise<RequestStep> {
    this.#mayAnnounce = raw.length === 0;
    const request = readMcpRequest(body);
    if (request === null && raw.length > 0) this.#options.onUnread('form');
    // Servers differ in what else they read, and run the calls in it.
    const isRefused = this.#options.policy.blocks && (!isStrict || hasOtherSpelling(body));
    const refusal = isRefused
      ? this.#refuse()
      : request === null && raw.length > 0
        ? this.unreadResponse()
        : null;
    if (refusal !== null) return { respond: refusal };
    if (request === null) return { send: raw };
    for (const { id, method, cursor = null } of request.requests)
      if (method === 'tools/list' && typeof id !== 'object')
        this.#waiting.set(id, (response) => this.#listed(response, cursor));
    for (const { id, name } of request.toolCalls)
      if (id !== null) this.#waiting.set(id, (response) => this.#ran(response, name));
    if (request.toolCalls.length === 0) return this.#sent(raw);
    this.facts.toolsCalled = namesOf(request.toolCalls.map(({ name }) => name));
    const exact = (): McpRequest => readMcpRequest(exactJson(body, text)) ?? request;
    return after(this.#evaluate(request.toolCalls), (known) => {
      const response = this.#decide(known, exact);
      return response === null ? this.#sent(raw) : { respond: response };
    });
  }

  unreadRequest(): OwnResponse | null {
    return this.unreadResponse();
  }

  unreadResponse(): OwnResponse | null {
    return this.#failsClosed ? this.#refuse() : null;
  }

  get #failsClosed(): boolean {
    const { policy, lane } = this.#options;
    return policy.deniesUnread(lane);
  }

  head({ status, format }: LaneHead): Treatment {
    if (status >= 400) return { kind: 'unread' };
    // What cannot be read is denied before it passes.
    const isCopied = !this.#failsClosed;
    if (format === 'json') return { kind: 'whole', isCopied };
    // Clients reject every other format.
    if (format !== 'sse') return { kind: 'unread' };
    this.facts.isStream = true;
    return { kind: 'frames', format: 'sse', isHeld: false, isCopied: isCopied && !this.#mayAnnounce };
  }

  whole({ value }: JsonBody): WholeStep {
    if (value === undefined) this.#options.onUnread('form');
    const denied = value === undefined ? this.unreadResponse() : null;
    if (denied !== null) return { respond: denied };
    this.#read(value);
    return { body: null };
  }

  frames(frames: readonly Frame[]): FramesStep {
    const denied = frames.some(isUnread) ? this.unreadResponse() : null;
    if (denied !== null) return { respond: denied };
    const passed = frames.map((frame) => this.#frame(frame));
    const isUnchanged = !this.#mayAnnounce && this.#endpoint === null;
    return { frames: passed, isCopied: isUnchanged && !this.#failsClosed };
  }

  opened(write: (bytes: string) => void): void {
    this.#write = write;
    if (this.#endpoint !== null) this.#options.memory.open(this.#endpoint, write);
  }

  end(): void {
    if (this.#endpoint !== null) this.#options.memory.close(this.#endpoint, this.#write);
  }

  /** The response in place of a body that cannot be read. */
  #refuse(): OwnResponse {
    this.facts.isBlocked = true;
    this.facts.outcome = 'deny';
    this.facts.violations = [BODY_UNREAD];
    const body = JSON.stringify(
      mcpRefusal('The policy of this agent denies a body that is not JSON-RPC in UTF-8.'),
    );
    return { status: 400, headers: ['content-type', 'application/json'], body };
  }

  #evaluate(calls: readonly McpToolCall[]): EgressDecision | Promise<EgressDecision> {
    const { policy, lane, userConfirmed } = this.#options;
    const confirmed = userConfirmed();
    const checked = calls.filter(({ name }) => policy.argumentCheck(name) !== undefined);
    const invalid = checked.filter((call) => {
      // Arguments that are nested too deeply to be written are not valid.
      const text = argumentsText(call.arguments ?? {});
      return text === null || policy.argumentCheck(call.name)?.(text) === false;
    });
    return policy.evaluate(
      {
        request_type: 'egress_mcp_call',
        tools: [...new Set(calls.map(({ name }) => name))],
        ...(checked.length > 0 && { invalid_arguments: [...new Set(invalid.map(({ name }) => name))] }),
        ...(confirmed !== undefined && { user_confirmed: confirmed }),
      },
      lane,
    );
  }

  /** null: the call is sent. `request`: with exact ids. */
  #decide(decision: EgressDecision, request: () => McpRequest): OwnResponse | null {
    const { violations } = decision;
    this.facts.violations = violations;
    this.facts.outcome = outcomeOf(decision);
    if (violations.length === 0 || !this.#options.policy.blocks) return null;
    this.facts.isBlocked = true;
    const names = this.facts.toolsCalled.join(', ');
    const message = `The call of ${names} was not sent: ${violations.join(', ')}. The policy of this agent denies it.`;
    return this.#denial(mcpDenial(request(), { message, violations }));
  }

  /** With the older transport, the responses arrive on the stream, which is another call. */
  #sent(raw: Buffer): RequestStep {
    const { memory, target } = this.#options;
    for (const [id, run] of this.#waiting) memory.expect(target, id, run);
    return { send: raw };
  }

  /** In the transport of the client: the response of the POST, or the open stream of the older transport. */
  #denial(body: unknown): OwnResponse {
    const accepted: OwnResponse = { status: 202, headers: [], body: '' };
    if (body === null) return accepted;
    const write = this.#options.memory.streamOf(this.#options.target);
    if (write === null)
      return { status: 200, headers: ['content-type', 'application/json'], body: JSON.stringify(body) };
    for (const message of [body].flat()) write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    return accepted;
  }

  #frame(frame: Frame): Frame {
    if (frame.data === null || frame.part === 'begin') return frame;
    const isFirst = this.#mayAnnounce;
    this.#mayAnnounce = false;
    if (isFirst && frame.event === 'endpoint') return this.#announced(frame);
    if (frame.data !== '') this.#read(readJson(frame.data));
    return frame;
  }

  /** The first event of the older transport, with the address of the lane in place of the server's. */
  #announced(frame: Frame): Frame {
    const { lane, memory } = this.#options;
    const data = addressOnLane(lane, frame.data ?? '', lane.upstream.pathname + lane.upstream.search);
    if (data === null) return frame;
    this.#endpoint = data;
    if (this.#write !== null) memory.open(data, this.#write);
    return { raw: Buffer.from(`event: endpoint\ndata: ${data}\n\n`), event: 'endpoint', data };
  }

  #read(body: unknown): void {
    for (const response of readMcpResponses(body)) {
      if (response.kind === 'tools')
        this.facts.toolsOffered = namesOf([...this.facts.toolsOffered, ...response.names]);
      const sent =
        this.#waiting.get(response.id) ??
        (this.#endpoint === null ? undefined : this.#options.memory.arrived(this.#endpoint, response.id));
      this.#waiting.delete(response.id);
      if (sent === undefined) this.#listed(response, undefined);
      else sent(response);
    }
  }

  #listed(response: McpResponse, cursor: string | null | undefined): void {
    const { lane, memory } = this.#options;
    if (response.kind !== 'tools') return;
    memory.list(lane.name ?? lane.id, { names: response.names, cursor, next: response.next });
  }

  #ran(response: McpResponse, name: string): void {
    if (response.kind === 'result' && response.isError) return;
    const { lane, memory } = this.#options;
    memory.ran(lane.name ?? lane.id, name);
    this.facts.toolsExecuted = namesOf([...this.facts.toolsExecuted, name]);
    this.facts.onLate?.();
  }
}

const namesOf = (names: readonly string[]): string[] => [...new Set(names)].slice(0, MAX_NAMES);
