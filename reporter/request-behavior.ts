import type { BehavioralEvent } from '../core/behavior/audit-entry.ts';
import {
  CONFIRMED_HEADER,
  GUARDRAILS_HEADER,
  TOOLS_HEADER,
} from '../core/behavior/parse-behavior-headers.ts';
import { headerFormOf, reportedName } from '../core/behavior/reported-name.ts';

/** Where the headers go while the head has not been sent: the response of `node:http` and Express, `reply.raw` of Fastify. */
export interface HeadWriter {
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
}

export interface GuardrailDetails {
  /** Default true; false says that it did not run. */
  invoked?: boolean;
  blocked?: boolean;
  /** Such as the toxicity; only with it can the policy hold a threshold. */
  score?: number;
}

export interface ToolDetails {
  success?: boolean;
  /** Milliseconds. */
  latencyMs?: number;
}

/**
 * What the agent did for one request. An object of that request and nothing else: there is no ambient state that another
 * request could see. What is said before the response's head goes into its headers, what comes later and what headers
 * cannot hold goes to the sidecar as an event. Each method is false when what it was told reaches nobody; none throws.
 */
export interface RequestBehavior {
  guardrail(type: string, details?: GuardrailDetails): boolean;
  tool(name: string, details?: ToolDetails): boolean;
  /**
   * One call of a model that the request made, counted as `recordUsage` counts it: false when a count is not a whole number
   * from 0 to 1e9. For code that the async context of the request does not reach.
   */
  model(modelId: string, promptTokens: number, completionTokens: number): boolean;
  /** The user's word on a destructive tool; known in time or never, since there is no event for it. */
  confirmed(value?: boolean): boolean;
  /**
   * The headers for a fetch `Response`. From then on they count as sent: later facts are events.
   */
  headers(): Record<string, string>;
}

export interface RequestBehaviorOptions {
  /** null: the headers are taken by `headers()`. */
  response: HeadWriter | null;
  /** false: the event is dropped. Never throws. */
  sendEvent: (event: BehavioralEvent) => boolean;
  /** false: a count is not valid. Never throws. */
  countUsage: RequestBehavior['model'];
  /** Something reaches nobody, and why; the name as JSON. */
  onLost: (what: { name: string; reason: string }) => void;
}

/** Of one list: the longest encoded name fits (500 units of 9 characters); parsers refuse a head of more than 16 KiB. */
const MAX_LIST = 4608;

/** Begins with two empty lists, which are facts: nothing was invoked yet. So make one only where the agent calls a model. */
export function createRequestBehavior(options: RequestBehaviorOptions): RequestBehavior {
  const behavior = new HeaderBehavior(options);
  return {
    guardrail: (type, details) => behavior.guardrail(type, details ?? {}),
    tool: (name, details) => behavior.tool(name, details ?? {}),
    model: options.countUsage,
    confirmed: (value) => behavior.confirmed(value ?? true),
    headers: () => behavior.taken(),
  };
}

class HeaderBehavior {
  readonly #options: RequestBehaviorOptions;
  readonly #headers = new Map<string, string>();
  #isTaken = false;

  constructor(options: RequestBehaviorOptions) {
    this.#options = options;
    this.#write(GUARDRAILS_HEADER, '');
    this.#write(TOOLS_HEADER, '');
  }

  guardrail(type: string, { invoked = true, blocked, score }: GuardrailDetails): boolean {
    if (!isName(type)) return this.#refuse(type);
    const isListed = invoked && this.#list(GUARDRAILS_HEADER, type);
    if (isListed && blocked === undefined && score === undefined) return true;
    const event: BehavioralEvent = { type: 'guardrail', guardrailType: reportedName(type), invoked };
    if (blocked !== undefined) event.blocked = blocked;
    if (score !== undefined) event.score = score;
    return this.#tell(event, { name: type, isListed });
  }

  tool(name: string, { success, latencyMs }: ToolDetails): boolean {
    if (!isName(name)) return this.#refuse(name);
    const isListed = this.#list(TOOLS_HEADER, name);
    if (isListed && success === undefined && latencyMs === undefined) return true;
    const event: BehavioralEvent = { type: 'tool', name: reportedName(name) };
    if (success !== undefined) event.success = success;
    if (latencyMs !== undefined) event.latencyMs = latencyMs;
    return this.#tell(event, { name, isListed });
  }

  confirmed(value: boolean): boolean {
    const reason = typeof value !== 'boolean' ? 'it is neither true nor false' : 'the head has been sent';
    const isWritten = typeof value === 'boolean' && this.#write(CONFIRMED_HEADER, String(value));
    if (!isWritten) this.#options.onLost({ name: 'confirmed', reason });
    return isWritten;
  }

  taken(): Record<string, string> {
    this.#isTaken = true;
    return Object.fromEntries(this.#headers);
  }

  /** Adds a name to a header's list, once. */
  #list(header: string, name: string): boolean {
    const encoded = headerFormOf(reportedName(name));
    const list = this.#headers.get(header) ?? '';
    const names = list === '' ? [] : list.split(', ');
    if (names.includes(encoded)) return true;
    const longer = [...names, encoded].join(', ');
    return longer.length <= MAX_LIST && this.#write(header, longer);
  }

  /** false: the head has gone. */
  #write(header: string, value: string): boolean {
    const { response } = this.#options;
    if (this.#isTaken || response?.headersSent === true) return false;
    try {
      response?.setHeader(header, value);
    } catch {
      // A response that is gone refuses them.
      return false;
    }
    this.#headers.set(header, value);
    return true;
  }

  #tell(event: BehavioralEvent, { name, isListed }: { name: string; isListed: boolean }): boolean {
    const isSent = this.#options.sendEvent(event);
    if (!isSent && !isListed)
      this.#options.onLost({
        name: JSON.stringify(name),
        reason: 'the head has been sent, or cannot hold it, and the event was dropped',
      });
    return isSent || isListed;
  }

  #refuse(name: unknown): false {
    this.#options.onLost({ name: JSON.stringify(name) ?? String(name), reason: 'it is not a name' });
    return false;
  }
}

/** Callers in JavaScript pass anything. */
const isName = (name: unknown): boolean => typeof name === 'string' && name.trim() !== '';
