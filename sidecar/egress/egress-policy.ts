import { reportedName } from '../../core/untrusted/reported-name.ts';
import { compileConstraints, type ArgumentCheck } from '../../core/egress/constraints.ts';
import {
  declaredEgressOf,
  isDeclaredHost,
  isDeclaredModel,
  isDeclaredTool,
  mcpToolsIn,
  toolsOfServer,
  type DeclaredEgress,
} from '../../core/egress/declared.ts';
import { failModeOf, POLICY_UNAVAILABLE, type FailModes } from '../../core/egress/fail-modes.ts';
import type { Lane } from '../../core/egress/lanes.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { vendorsOf } from '../../core/organisation/checks.ts';
import { organisationDenials, type OrganisationCall } from '../../core/organisation/directive.ts';
import { egressInputOf, type EgressQuery } from '../../core/policy/egress-input.ts';
import type { OrganisationDirective } from '../../core/shapes/directive.ts';
import type { UsageTotals } from '../../core/shapes/usage.ts';
import type { Outcome, PolicyMode } from '../../core/shapes/values.ts';
import { vendorAt } from '../../core/vendors/vendors.ts';
import type { EgressDecision, PolicyEvaluator } from '../policy/policy-evaluator.ts';
import { after } from './after.ts';
import type { McpMemory } from './mcp-memory.ts';

export interface EgressPolicyOptions {
  mode: PolicyMode;
  /** What happens with calls that the engine cannot evaluate. Has an effect in the mode `enforce`. */
  failModes: FailModes;
  evaluator: Pick<PolicyEvaluator, 'evaluateEgress'>;
  /** The manifest in force. */
  manifest: () => Manifest;
  memory: Pick<McpMemory, 'listed' | 'hasListed'>;
  /** What the rules of the organisation allow; null: there are none, or they were not received in time. `awaited`: not yet. */
  directive: () => OrganisationDirective | 'awaited' | null;
  /** Today's usage of all instances of the agent. */
  totals: () => UsageTotals;
}

/** What one manifest declares, computed once. */
interface Declaration {
  manifest: Manifest;
  declared: DeclaredEgress;
  checks: ReadonlyMap<string, ArgumentCheck>;
}

const NOT_EVALUATED: EgressDecision = { violations: [], state: 'none' };

/** Decides about calls through the lanes, with the policy engine of the sidecar. */
export class EgressPolicy {
  readonly mode: PolicyMode;
  readonly #options: EgressPolicyOptions;
  #known: Declaration | null = null;

  constructor(options: EgressPolicyOptions) {
    this.#options = options;
    this.mode = options.mode;
  }

  /** true: a denial changes what the agent or the vendor receives. */
  get blocks(): boolean {
    return this.mode === 'enforce';
  }

  /** The check of a tool's arguments; undefined: the manifest declares none. */
  argumentCheck(tool: string): ArgumentCheck | undefined {
    return this.mode === 'off' ? undefined : this.#declaration.checks.get(reportedName(tool));
  }

  /** true: a body of this lane that cannot be read is denied, also because rules of the organisation could not be compared with it. */
  deniesUnread(lane: Lane): boolean {
    const directive = this.#options.directive();
    if (directive === 'awaited') return this.blocks;
    const { models = [], tools = { allowed: [], forbidden: [] } } = directive ?? {};
    const ofTools = tools.allowed.length + tools.forbidden.length;
    const hasRules = ofTools > 0 || (lane.kind !== 'mcp' && models.length > 0);
    return this.#failsClosed(lane) || (this.blocks && hasRules);
  }

  /** true: a call of this lane that the engine cannot evaluate is denied. */
  #failsClosed({ id }: Lane): boolean {
    return this.blocks && failModeOf(this.#options.failModes, id) === 'closed';
  }

  /** Synchronous if the engine is. `vendorTools`: those of the tools that the vendor runs. */
  evaluate(
    query: EgressQuery,
    lane: Lane,
    vendorTools?: readonly string[],
  ): EgressDecision | Promise<EgressDecision> {
    if (this.mode === 'off') return NOT_EVALUATED;
    const { tools = [] } = query;
    const { evaluator } = this.#options;
    const mcpTools = lane.kind === 'mcp' ? this.#toolsOf(lane, tools) : this.#mcpTools(tools, vendorTools);
    const decision = evaluator.evaluateEgress(
      mcpTools.length === 0 ? query : { ...query, mcp_tools: mcpTools },
    );
    const denials = this.#organisationDenials(query, lane);
    if (denials.length === 0 && !this.#failsClosed(lane)) return decision;
    return after(decision, (found) => {
      const { state, violations } = this.#failsClosed(lane) ? closed(found) : found;
      return { state, violations: [...new Set([...violations, ...denials])] };
    });
  }

  /** Why the organisation does not allow a call, whatever the manifest declares. */
  #organisationDenials(query: EgressQuery, lane: Lane): readonly string[] {
    const input = egressInputOf('', query, this.#options.totals());
    // The check of models is about the hosts of vendors.
    if (vendorAt(lane.upstream) === null) input.host = lane.upstream.hostname;
    return this.#denialsOf(input, this.#vendorsOn(lane));
  }

  /** The vendors whose models a lane can lead to: at the address of a vendor only its own, at a gateway those of the manifest. */
  #vendorsOn({ kind, upstream }: Lane): readonly string[] {
    const vendor = vendorAt(upstream);
    return vendor === null ? [kind, ...vendorsOf(this.#options.manifest())] : [vendor];
  }

  /** Those of the models that the organisation does not allow on a lane. */
  notAllowedModels(models: readonly string[], lane: Lane): string[] {
    const vendors = this.#vendorsOn(lane);
    return models.filter((model) => this.#denialsOf({ model }, vendors).length > 0);
  }

  #denialsOf(call: OrganisationCall, vendors: readonly string[] = []): readonly string[] {
    const directive = this.#options.directive();
    if (directive === null) return [];
    // A sidecar that restarts must not open its lanes to the agent for this time.
    if (directive === 'awaited') return this.blocks ? [POLICY_UNAVAILABLE] : [];
    return organisationDenials(directive, call, { vendors, servers: this.#declaration.declared.mcpServers });
  }

  /** Those of the tools that the organisation does not allow, for the text of a denial. */
  notAllowedIn(tools: readonly string[]): string[] {
    return tools.filter((tool) => this.#denialsOf({ tools: [tool] }).length > 0);
  }

  isAllowedHost(host: string): boolean {
    return this.#denialsOf({ host }).length === 0;
  }

  /** Those of the tools that the manifest does not declare, for the text of a denial. */
  undeclaredIn(tools: readonly string[], vendorTools: readonly string[]): string[] {
    const mcpTools = new Set(this.#mcpTools(tools, vendorTools));
    return tools.filter((tool) => !isDeclaredTool(this.#declaration.declared, tool, mcpTools));
  }

  /** On the lane of an MCP server. */
  #toolsOf({ name, id }: Lane, tools: readonly string[]): readonly string[] {
    const { memory } = this.#options;
    const server = name ?? id;
    const listed = memory.hasListed(server) ? memory.listed.get(server) : undefined;
    return toolsOfServer(this.#declaration.declared, server, { names: tools, listed });
  }

  /** On the lane of a model. */
  #mcpTools(tools: readonly string[], vendorTools?: readonly string[]): readonly string[] {
    return [...mcpToolsIn(this.#declaration.declared, tools, this.#options.memory.listed, vendorTools)];
  }

  /** Those of the models that the manifest does not declare. */
  undeclaredModels(models: readonly string[]): string[] {
    return models.filter((model) => !isDeclaredModel(this.#declaration.declared, model));
  }

  /** null: not known, because the manifest has references. */
  isDeclaredHost(host: string): boolean | null {
    return isDeclaredHost(this.#declaration.declared, host);
  }

  get #declaration(): Declaration {
    const manifest = this.#options.manifest();
    if (this.#known?.manifest !== manifest)
      this.#known = {
        manifest,
        declared: declaredEgressOf(manifest),
        checks: compileConstraints(manifest),
      };
    return this.#known;
  }
}

/** A call that the engine could not evaluate is denied. Without a configured engine there is nothing to evaluate. */
function closed(decision: EgressDecision): EgressDecision {
  const { state } = decision;
  return state === 'unreachable' || state === 'not-loaded'
    ? { violations: [POLICY_UNAVAILABLE], state }
    : decision;
}

/** The outcome of a call for which the engine was queried. Without a result it passes, as on the proxy, unless its lane fails closed. */
export function outcomeOf({ state, violations }: EgressDecision): Outcome {
  if (violations.length > 0) return 'deny';
  if (state === 'unreachable') return 'failOpen';
  if (state !== 'answered') return 'notEvaluated';
  return 'allow';
}

const RANK: Readonly<Record<Outcome, number>> = { notEvaluated: 0, allow: 1, failOpen: 2, deny: 3 };

/** The outcome of a call with several queries: a denial, else a query that failed, else a query that succeeded. */
export const strongest = (first: Outcome, second: Outcome): Outcome =>
  RANK[second] > RANK[first] ? second : first;
