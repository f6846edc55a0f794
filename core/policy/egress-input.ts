import { reportedName } from '../untrusted/reported-name.ts';
import { hostName } from '../egress/declared.ts';
import { modelNamesOf } from '../facts/sightings.ts';
import type { UsageTotals } from '../shapes/usage.ts';
import type { EgressRequestType, PolicyInput } from './policy-input.ts';

/** The facts about one call on an egress lane, as received. Members without a comment are those of PolicyInput. */
export interface EgressQuery extends Pick<
  PolicyInput,
  'model' | 'tools' | 'mcp_tools' | 'invalid_arguments' | 'host' | 'reserved_tokens' | 'user_confirmed'
> {
  request_type: EgressRequestType;
  /** US dollars that this call and the calls in flight may cost; added to the cost of the day. */
  reserved_usd?: number;
}

/** Sums of two such numbers are exact in every engine. */
const MAX_TOKENS = 2 ** 52;

/** The input document of a call on an egress lane. Only model requests have the totals of the day. */
export function egressInputOf(
  agentName: string,
  query: EgressQuery,
  totals: Partial<UsageTotals>,
): PolicyInput {
  const { request_type, model, tools, mcp_tools, invalid_arguments, host, user_confirmed } = query;
  const input: PolicyInput = { agent_name: agentName, request_type };
  if (model !== undefined) {
    input.model = model.toWellFormed();
    input.model_names = modelNamesOf(input.model);
  }
  if (tools !== undefined) input.tools = tools.map(reportedName);
  if (mcp_tools !== undefined) input.mcp_tools = mcp_tools.map(reportedName);
  if (invalid_arguments !== undefined) input.invalid_arguments = invalid_arguments.map(reportedName);
  if (host !== undefined) input.host = hostName(host);
  if (user_confirmed !== undefined) input.user_confirmed = user_confirmed;
  if (request_type === 'egress_model_request') addBudget(input, query, totals);
  return input;
}

function addBudget(
  input: PolicyInput,
  { reserved_tokens = 1, reserved_usd = 0 }: EgressQuery,
  { tokensToday, costTodayUsd }: Partial<UsageTotals>,
): void {
  input.reserved_tokens = whole(Math.max(1, reserved_tokens));
  if (tokensToday !== undefined) input.tokens_today = whole(tokensToday);
  if (costTodayUsd !== undefined)
    input.cost_today_usd = Math.min(costTodayUsd + reserved_usd, Number.MAX_VALUE);
}

/** Rounded up, because a part of a token counts as a token. */
function whole(tokens: number): number {
  return Math.min(Math.ceil(tokens), MAX_TOKENS);
}
