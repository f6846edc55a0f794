import { modelNamesOf } from '../../core/facts/sightings.ts';
import type { LaneRoute } from '../../core/egress/lane-routes.ts';
import { toolsOf } from '../../core/egress/model-wire.ts';
import type { Frame, Json, ModelRequest, ModelWire } from '../../core/egress/model-wire.ts';
import { otherModels } from '../../core/egress/other-models.ts';
import { readJson } from '../../core/egress/wires/exact-json.ts';
import { nameAt, recordAt } from '../../core/egress/wires/members.ts';
import type { EgressQuery } from '../../core/policy/egress-input.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import type { EgressDecision } from '../policy/policy-evaluator.ts';
import type { EgressPolicy } from './egress-policy.ts';

/** Models of one request that are evaluated, those first that are not allowed or not declared. */
const MAX_MODELS = 20;

const IN_THE_BODY = { model: null, isStream: false };

type Evaluation = EgressDecision | Promise<EgressDecision>;

/** The models that a call names: its request may name several, and its response one that the request does not name. */
export class NamedModels {
  /** Models in the request other than the one that it is for. */
  others: readonly string[] = [];
  /** What the response named in place of the request. */
  inResponse: ModelRequest | null = null;
  readonly #policy: EgressPolicy;
  readonly #route: LaneRoute;
  readonly #wire: ModelWire;
  /** The request does not name its model, or has a stored prompt, which may bring a model and tools. */
  #isOpen: boolean;

  constructor(policy: EgressPolicy, route: LaneRoute, wire: ModelWire) {
    this.#policy = policy;
    this.#route = route;
    this.#wire = wire;
    this.#isOpen = route.model === null;
  }

  read(body: Json, model: string | null): void {
    const hasStored = this.#wire.name === 'responses' && isRecord(own(body, 'prompt'));
    this.#isOpen = model === null || hasStored;
    this.others = otherModels(body, model);
  }

  /** The decision on a request. Each of its models may run. `vendorTools`: those of its tools that the vendor runs. */
  evaluate(query: EgressQuery, vendorTools: readonly string[]): Evaluation {
    const first = this.#policy.evaluate(query, this.#route.lane, vendorTools);
    if (this.others.length === 0) return first;
    const notAllowed = this.#policy.notAllowedModels(this.others, this.#route.lane);
    const undeclared = this.#policy.undeclaredModels(this.others);
    const judged = [...new Set([...notAllowed, ...undeclared, ...this.others])];
    const decisions = judged
      .slice(0, MAX_MODELS)
      .map((model) => this.#policy.evaluate({ ...query, model }, this.#route.lane, vendorTools));
    return [first, ...decisions].reduce(both);
  }

  /** The decision on what a response, or an event of a stream, names; null: the request names it, or the response does not. */
  evaluateResponse(response: Json): Evaluation | null {
    if (!this.#isOpen) return null;
    const inner = recordAt(response, 'response') ?? recordAt(response, 'message');
    const from = nameAt(response, 'model') === null && inner !== null ? inner : response;
    const named = this.#wire.readRequest(from, IN_THE_BODY);
    const { model, vendorTools } = named;
    if (model === null) return null;
    this.#isOpen = false;
    this.inResponse = named;
    const query: EgressQuery = { request_type: 'egress_model_request', model, tools: toolsOf(named) };
    return this.#policy.evaluate(query, this.#route.lane, vendorTools);
  }

  /** As `evaluateResponse`, of the first of these events that names a model. */
  evaluateFrames(frames: readonly Frame[]): Evaluation | null {
    if (!this.#isOpen) return null;
    for (const { data } of frames) {
      const event = data === null ? null : readJson(data);
      const decision = isRecord(event) ? this.evaluateResponse(event) : null;
      if (decision !== null) return decision;
    }
    return null;
  }

  /** The model that ran, of those that a gateway chooses from. `requested`: the one that the request is for. */
  ran(requested: string | null, received: string | null): string | null {
    if (this.others.length === 0 || this.#route.model !== null || received === null) return requested;
    const names: readonly string[] = modelNamesOf(received);
    const all = requested === null ? this.others : [requested, ...this.others];
    return all.find((model) => modelNamesOf(model).some((name) => names.includes(name))) ?? requested;
  }
}

function both(first: Evaluation, second: Evaluation): Evaluation {
  if (first instanceof Promise || second instanceof Promise)
    return Promise.all([first, second]).then(([known, next]) => joined(known, next));
  return joined(first, second);
}

const joined = (first: EgressDecision, second: EgressDecision): EgressDecision => ({
  violations: [...new Set([...first.violations, ...second.violations])],
  state: first.state === 'answered' ? second.state : first.state,
});
