import { amount, bigCount, count } from './common.ts';
import { isoTime, named, oneOf, optional, text, type Field } from './field.ts';
import { list, object, type TypeOf } from './object.ts';

/** Maximum number of models that are kept, and that an agent's report may contain. */
export const MAX_MODELS = 100;
const MAX_REPORTED = 10_000;

const model = object('Usage of one model.', {
  modelId: text("The provider's name of the model.", { cut: 200 }),
  promptTokens: bigCount('Prompt tokens.'),
  completionTokens: bigCount('Completion tokens.'),
  totalTokens: count('At least the sum of the two; some vendors count reasoning tokens only here.'),
  callCount: bigCount('Number of calls of the model.'),
});
export interface ModelUsage extends TypeOf<typeof model> {}
export const modelMembers = model.members;
export const modelUsage: Field<ModelUsage> = named('ModelUsage', model);

export const usageMembers = {
  windowStartedAt: isoTime('Start of the window.'),
  models: list('Usage by model.', modelUsage, { max: MAX_MODELS, cut: true }),
  totalTokens: bigCount('Tokens of all models.'),
  totalCalls: bigCount('Number of calls of all models.'),
};

const window = object('Usage since the previous heartbeat.', usageMembers);

/** The usage window of one heartbeat. */
export interface UsageWindow extends TypeOf<typeof window> {}
export const usageWindow: Field<UsageWindow> = window;

const report = object('Usage that the agent itself reports.', {
  source: oneOf('Marks a report of the agent itself.', ['agent-sdk']),
  ...usageMembers,
  models: list('One entry per model.', modelUsage, { max: MAX_REPORTED }),
});

/** The agent's own `GET /platform/usage`, before its totals are compared, and `GET /usage` if the agent has one. */
export interface AgentUsageReport extends TypeOf<typeof report> {}
export const usageReport: Field<AgentUsageReport> = report;

const totals = object('Usage of the current UTC day; absent: the windows are summed.', {
  tokensToday: count('Tokens of the current UTC day.'),
  costTodayUsd: optional(amount('Absent without prices in the manifest.', 1e12)),
});

/** Tokens and cost of the current UTC day. */
export interface UsageTotals extends TypeOf<typeof totals> {}
export const usageTotals: Field<UsageTotals> = totals;
