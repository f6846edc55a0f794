import { addressOnLane } from '../../core/egress/lane-addresses.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import {
  mcpDenial,
  readMcpAnswers,
  readMcpRequest,
  type McpRequest,
  type McpToolCall,
  type RpcId,
} from '../../core/egress/mcp-messages.ts';
import type { Frame } from '../../core/egress/model-wire.ts';
import { exactJson, jsonBodyText } from '../../core/egress/wires/exact-json.ts';
import { jsonText } from '../../core/egress/wires/members.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import type { EgressVerdict } from '../policy/policy-evaluator.ts';
import { outcomeOf, type EgressPolicy } from './egress-policy.ts';
import {
  NO_FACTS,
  type AnswerHead,
  type CallFacts,
  type FramesStep,
  type LaneCall,
  type OwnResponse,
  type RequestStep,
  type Treatment,
  type UnreadReason,
  type WholeStep,
} from './lane-call.ts';
import type { McpMemory } from './mcp-memory.ts';

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
  /** The tools of the calls without a result, by the id of their request. */
  readonly #waiting = new Map<RpcId, string>();
  #write: ((bytes: string) => void) | null = null;
  /** The path to which messages of this stream are sent; null: not an HTTP+SSE stream, or not announced yet. */
  #endpoint: string | null = null;

  constructor(options: McpCallOptions) {
    this.#options = options;
  }

  request(body: unknown, raw: Buffer): RequestStep | Promise<RequestStep> {
    const request = readMcpRequest(body);
    if (request === null && raw.length > 0) this.#options.onUnread('form');
    if (request === null || request.toolCalls.length === 0) return { send: raw };
    for (const { id, name } of request.toolCalls) if (id !== null) this.#waiting.set(id, name);
    this.facts.toolsCalled = namesOf(request.toolCalls.map(({ name }) => name));
    const verdict = this.#evaluate(request.toolCalls);
    const exact = (): McpRequest => readMcpRequest(exactJson(body, jsonBodyText(raw))) ?? request;
    const step = (known: EgressVerdict): RequestStep => {
      const response = this.#decide(known, exact);
      if (response !== null) return { respond: response };
      this.#expectOnStream(request);
      return { send: raw };
    };
    return verdict instanceof Promise ? verdict.then(step) : step(verdict);
  }

  unreadRequest(): OwnResponse | null {
    return null;
  }

  head({ status, contentType, isEncoded }: AnswerHead): Treatment {
    if (status >= 400 || isEncoded) return { kind: 'unread', ...(isEncoded && { reason: 'form' }) };
    if (contentType === 'application/json') return { kind: 'whole' };
    if (contentType !== 'text/event-stream') return { kind: 'unread' };
    this.facts.isStream = true;
    return { kind: 'frames', format: 'sse', isHeld: false };
  }

  whole(body: unknown): WholeStep {
    this.#read(body);
    return { body: null };
  }

  frames(frames: readonly Frame[]): FramesStep {
    return { frames: frames.map((frame) => this.#frame(frame)) };
  }

  opened(write: (bytes: string) => void): void {
    this.#write = write;
    if (this.#endpoint !== null) this.#options.memory.open(this.#endpoint, write);
  }

  end(): void {
    if (this.#endpoint !== null) this.#options.memory.close(this.#endpoint);
  }

  #evaluate(calls: readonly McpToolCall[]): EgressVerdict | Promise<EgressVerdict> {
    const { policy, lane, userConfirmed } = this.#options;
    const confirmed = userConfirmed();
    const checked = calls.filter(({ name }) => policy.argumentCheck(name) !== undefined);
    const invalid = checked.filter((call) => {
      // Arguments that are nested too deeply to be written are not valid.
      const text = jsonText(call.arguments ?? {});
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
  #decide(verdict: EgressVerdict, request: () => McpRequest): OwnResponse | null {
    const { violations } = verdict;
    this.facts.violations = violations;
    this.facts.outcome = outcomeOf(verdict);
    if (violations.length === 0 || !this.#options.policy.blocks) return null;
    this.facts.isBlocked = true;
    const names = this.facts.toolsCalled.join(', ');
    const message = `The call of ${names} was not sent: ${violations.join(', ')}. The policy of this agent denies it.`;
    return this.#denial(mcpDenial(request(), 'result', { message, violations }));
  }

  /** With the older transport, the results arrive on the stream, which is another call. */
  #expectOnStream({ toolCalls }: McpRequest): void {
    const { memory, target } = this.#options;
    for (const { id, name } of toolCalls) if (id !== null) memory.expect(target, id, () => this.#ran(name));
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
    if (frame.event === 'endpoint' && this.#endpoint === null) return this.#announced(frame);
    if (frame.data !== null && frame.data !== '' && frame.part !== 'begin') this.#read(jsonOf(frame.data));
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
    const { lane, memory } = this.#options;
    for (const answer of readMcpAnswers(body)) {
      if (answer.kind === 'tools') {
        memory.list(lane.name ?? lane.id, answer.names);
        this.facts.toolsOffered = namesOf([...this.facts.toolsOffered, ...answer.names]);
        continue;
      }
      const name = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (name !== undefined && !answer.isError) this.#ran(name);
      else if (name === undefined && this.#endpoint !== null) memory.arrived(this.#endpoint, answer);
    }
  }

  #ran(name: string): void {
    const { lane, memory } = this.#options;
    memory.ran(lane.name ?? lane.id, name);
    this.facts.toolsExecuted = namesOf([...this.facts.toolsExecuted, name]);
    this.facts.onLate?.();
  }
}

const namesOf = (names: readonly string[]): string[] => [...new Set(names)].slice(0, MAX_NAMES);
