import type { BehavioralEvent } from '../core/shapes/events.ts';
import {
  CONFIRMED_HEADER,
  GUARDRAILS_HEADER,
  TOOLS_HEADER,
} from '../core/behavior/parse-behavior-headers.ts';
import { headerFormOf, reportedName } from '../core/untrusted/reported-name.ts';
import { present } from '../core/untrusted/present.ts';
import type { PolicyFacts } from './policy-facts.ts';

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
   * @param callId such as the id of the vendor's response; a call that was already counted in this request is not counted again
   */
  model(modelId: string, promptTokens: number, completionTokens: number, callId?: string): boolean;
  /** Whether the user confirmed a destructive tool. Only before the head is sent, because there is no event for it. */
  confirmed(value?: boolean): boolean;
  /**
   * The headers for a fetch `Response`. After this call the head counts as sent, and later data goes into events.
   */
  headers(): Record<string, string>;
  /** Writes the empty lists, which mean that nothing was invoked yet. Integrations call it before a model call. Idempotent. */
  begin(): void;
  /** What was reported so far, for `checkPolicy`. Outside of a request it is unknown, which does not deny. */
  facts(): PolicyFacts;
}

export interface RequestBehaviorOptions {
  /** null: the caller uses `headers()`. */
  response: HeadWriter | null;
  /** The headers begin with the first report instead of immediately. */
  isLazy?: boolean;
  /** Returns false if the event is dropped. Never throws. */
  sendEvent: (event: BehavioralEvent) => boolean;
  /** Returns false if a count is not valid. Never throws. */
  countUsage: CountUsage;
  /** Called with the name as JSON and the reason if data could not be delivered. */
  onLost: (lost: { name: string; reason: string }) => void;
}

export type CountUsage = (modelId: string, promptTokens: number, completionTokens: number) => boolean;

/** Maximum of names in one list of facts (`policy-facts.ts`), and of call ids. */
const MAX_KNOWN = 1000;

/** Maximum length of one list. The longest encoded name fits (500 units of 9 characters); parsers reject heads above 16 KiB. */
const MAX_LIST = 4608;

/** Starts with two empty lists, which mean that nothing was invoked. Create it only for requests that call a model. */
export function createRequestBehavior(options: RequestBehaviorOptions): RequestBehavior {
  return new HeaderBehavior(options);
}

/** The behavior of code outside of a request: model calls are counted, and everything else is dropped with a warning. */
export function behaviorOfNoRequest(countUsage: CountUsage, warn: () => void): RequestBehavior {
  const dropped = (): false => {
    warn();
    return false;
  };
  return {
    guardrail: dropped,
    tool: dropped,
    model: (modelId, promptTokens, completionTokens) => countUsage(modelId, promptTokens, completionTokens),
    confirmed: dropped,
    headers: () => ({}),
    begin: warn,
    facts() {
      warn();
      return { guardrailsInvoked: null, userConfirmed: null };
    },
  };
}

/** Its public members can be passed on as functions. */
class HeaderBehavior implements RequestBehavior {
  readonly #options: RequestBehaviorOptions;
  readonly #lists = new Map<string, string>();
  readonly #guardrails = new Set<string>();
  readonly #tools = new Set<string>();
  readonly #calls = new Set<string>();
  #confirmed: boolean | undefined;
  #toxicity: number | undefined;
  #hasBegun = false;
  #isTaken = false;

  constructor(options: RequestBehaviorOptions) {
    this.#options = options;
    if (options.isLazy !== true) this.begin();
  }

  readonly begin = (): void => {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#write(GUARDRAILS_HEADER, '');
    this.#write(TOOLS_HEADER, '');
  };

  readonly facts = (): PolicyFacts => ({
    guardrailsInvoked: [...this.#guardrails],
    toolsCalled: [...this.#tools],
    ...present({ userConfirmed: this.#confirmed, toxicityScore: this.#toxicity }),
  });

  readonly model: RequestBehavior['model'] = (modelId, promptTokens, completionTokens, callId) => {
    if (callId !== undefined && this.#calls.has(callId)) return true;
    this.begin();
    const isCounted = this.#options.countUsage(modelId, promptTokens, completionTokens);
    if (isCounted && typeof callId === 'string') remember(this.#calls, callId);
    return isCounted;
  };

  readonly guardrail: RequestBehavior['guardrail'] = (type, { invoked = true, blocked, score } = {}) => {
    if (!isName(type)) return this.#reject(type);
    this.begin();
    if (invoked) remember(this.#guardrails, reportedName(type));
    if (type === 'toxicity-filter' && typeof score === 'number' && Number.isFinite(score))
      this.#toxicity = Math.max(score, this.#toxicity ?? score);
    const isListed = invoked && this.#list(GUARDRAILS_HEADER, type);
    if (isListed && blocked === undefined && score === undefined) return true;
    const event: BehavioralEvent = { type: 'guardrail', guardrailType: reportedName(type), invoked };
    if (blocked !== undefined) event.blocked = blocked;
    if (score !== undefined) event.score = score;
    return this.#send(event, { name: type, isListed });
  };

  readonly tool: RequestBehavior['tool'] = (name, { success, latencyMs } = {}) => {
    if (!isName(name)) return this.#reject(name);
    this.begin();
    remember(this.#tools, reportedName(name));
    const isListed = this.#list(TOOLS_HEADER, name);
    if (isListed && success === undefined && latencyMs === undefined) return true;
    const event: BehavioralEvent = { type: 'tool', name: reportedName(name) };
    if (success !== undefined) event.success = success;
    if (latencyMs !== undefined) event.latencyMs = latencyMs;
    return this.#send(event, { name, isListed });
  };

  readonly confirmed = (value = true): boolean => {
    const reason = typeof value !== 'boolean' ? 'not a boolean' : 'response head already sent';
    if (typeof value === 'boolean') {
      this.begin();
      this.#confirmed = value;
    }
    const isWritten = typeof value === 'boolean' && this.#write(CONFIRMED_HEADER, String(value));
    if (!isWritten) this.#options.onLost({ name: 'confirmed', reason });
    return isWritten;
  };

  readonly headers = (): Record<string, string> => {
    this.#isTaken = true;
    return Object.fromEntries(this.#lists);
  };

  /** Adds a name to the list of a header, without duplicates. */
  #list(header: string, name: string): boolean {
    const encoded = headerFormOf(reportedName(name));
    const list = this.#lists.get(header) ?? '';
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
    this.#lists.set(header, value);
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

function remember(known: Set<string>, name: string): void {
  if (known.size < MAX_KNOWN) known.add(name);
}

/** JavaScript callers can pass any type. */
const isName = (name: unknown): boolean => typeof name === 'string' && name.trim() !== '';
