import type { BehavioralEvent } from '../core/behavior/audit-entry.ts';
import {
  CONFIRMED_HEADER,
  GUARDRAILS_HEADER,
  TOOLS_HEADER,
} from '../core/behavior/parse-behavior-headers.ts';
import { headerFormOf, reportedName } from '../core/behavior/reported-name.ts';

/** Receives the headers until the head is sent: the response of `node:http` and Express, `reply.raw` of Fastify. */
export interface HeadWriter {
  readonly headersSent: boolean;
  setHeader(name: string, value: string): unknown;
}

export interface GuardrailDetails {
  /** Default true; false: the guardrail did not run. */
  invoked?: boolean;
  blocked?: boolean;
  /** For example the toxicity. The policy needs the score to check a threshold. */
  score?: number;
}

export interface ToolDetails {
  success?: boolean;
  /** Milliseconds. */
  latencyMs?: number;
}

/**
 * Reports the behavior of one request. All state is in this object, so other requests cannot read it. Data before the response
 * head goes into headers. Later data, and data that does not fit into headers, goes to the sidecar as events. Each method
 * returns false if the data could not be delivered. No method throws.
 */
export interface RequestBehavior {
  guardrail(type: string, details?: GuardrailDetails): boolean;
  tool(name: string, details?: ToolDetails): boolean;
  /**
   * Counts one model call of the request, like `recordUsage`. Returns false if a count is not a whole number from 0 to 1e9.
   * For code outside the async context of the request.
   */
  model(modelId: string, promptTokens: number, completionTokens: number): boolean;
  /** Whether the user confirmed a destructive tool. Only before the head is sent, because there is no event for it. */
  confirmed(value?: boolean): boolean;
  /**
   * The headers for a fetch `Response`. After this call the head counts as sent, and later data goes into events.
   */
  headers(): Record<string, string>;
}

export interface RequestBehaviorOptions {
  /** null: the caller uses `headers()`. */
  response: HeadWriter | null;
  /** Returns false if the event is dropped. Never throws. */
  sendEvent: (event: BehavioralEvent) => boolean;
  /** Returns false if a count is not valid. Never throws. */
  countUsage: RequestBehavior['model'];
  /** Called with the name as JSON and the reason if data could not be delivered. */
  onLost: (lost: { name: string; reason: string }) => void;
}

/** Maximum length of one list. The longest encoded name fits (500 units of 9 characters); parsers reject heads above 16 KiB. */
const MAX_LIST = 4608;

/** Starts with two empty lists, which mean that nothing was invoked. Create it only for requests that call a model. */
export function createRequestBehavior(options: RequestBehaviorOptions): RequestBehavior {
  const behavior = new HeaderBehavior(options);
  return {
    guardrail: (type, details) => behavior.guardrail(type, details ?? {}),
    tool: (name, details) => behavior.tool(name, details ?? {}),
    model: options.countUsage,
    confirmed: (value) => behavior.confirmed(value ?? true),
    headers: () => behavior.takeHeaders(),
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
    if (!isName(type)) return this.#reject(type);
    const isListed = invoked && this.#list(GUARDRAILS_HEADER, type);
    if (isListed && blocked === undefined && score === undefined) return true;
    const event: BehavioralEvent = { type: 'guardrail', guardrailType: reportedName(type), invoked };
    if (blocked !== undefined) event.blocked = blocked;
    if (score !== undefined) event.score = score;
    return this.#send(event, { name: type, isListed });
  }

  tool(name: string, { success, latencyMs }: ToolDetails): boolean {
    if (!isName(name)) return this.#reject(name);
    const isListed = this.#list(TOOLS_HEADER, name);
    if (isListed && success === undefined && latencyMs === undefined) return true;
    const event: BehavioralEvent = { type: 'tool', name: reportedName(name) };
    if (success !== undefined) event.success = success;
    if (latencyMs !== undefined) event.latencyMs = latencyMs;
    return this.#send(event, { name, isListed });
  }

  confirmed(value: boolean): boolean {
    const reason = typeof value !== 'boolean' ? 'not a boolean' : 'response head already sent';
    const isWritten = typeof value === 'boolean' && this.#write(CONFIRMED_HEADER, String(value));
    if (!isWritten) this.#options.onLost({ name: 'confirmed', reason });
    return isWritten;
  }

  takeHeaders(): Record<string, string> {
    this.#isTaken = true;
    return Object.fromEntries(this.#headers);
  }

  /** Adds a name to the list of a header, without duplicates. */
  #list(header: string, name: string): boolean {
    const encoded = headerFormOf(reportedName(name));
    const list = this.#headers.get(header) ?? '';
    const names = list === '' ? [] : list.split(', ');
    if (names.includes(encoded)) return true;
    const longer = [...names, encoded].join(', ');
    return longer.length <= MAX_LIST && this.#write(header, longer);
  }

  /** Returns false if the head was already sent. */
  #write(header: string, value: string): boolean {
    const { response } = this.#options;
    if (this.#isTaken || response?.headersSent === true) return false;
    try {
      response?.setHeader(header, value);
    } catch {
      // A closed response throws.
      return false;
    }
    this.#headers.set(header, value);
    return true;
  }

  #send(event: BehavioralEvent, { name, isListed }: { name: string; isListed: boolean }): boolean {
    const isSent = this.#options.sendEvent(event);
    if (!isSent && !isListed)
      this.#options.onLost({
        name: JSON.stringify(name),
        reason: 'response head already sent or full, and event dropped',
      });
    return isSent || isListed;
  }

  #reject(name: unknown): false {
    this.#options.onLost({ name: JSON.stringify(name) ?? String(name), reason: 'not a valid name' });
    return false;
  }
}

/** JavaScript callers can pass any type. */
const isName = (name: unknown): boolean => typeof name === 'string' && name.trim() !== '';
