import { amount, bigCount, count } from './common.ts';
import { isoTime, oneOf, text } from './field.ts';
import { list, namedObject, object, type TypeOf } from './object.ts';

/** Maximum number of models that are kept, and that an agent's report may contain. */
export const MAX_MODELS = 100;
const MAX_REPORTED = 10_000;

export const modelUsage = namedObject('ModelUsage', 'Usage of one model.', {
  modelId: text("The provider's name of the model.", { cut: 200 }),
  promptTokens: bigCount('Prompt tokens.'),
  completionTokens: bigCount('Completion tokens.'),
  totalTokens: count('At least the sum of the two; some vendors count reasoning tokens only here.'),
  callCount: bigCount('Number of calls of the model.'),
});
export interface ModelUsage extends TypeOf<typeof modelUsage> {}
export const modelMembers = modelUsage.members;

export const usageMembers = {
  windowStartedAt: isoTime('Start of the window.'),
  models: list('Usage by model.', modelUsage, { max: MAX_MODELS, cut: true }),
  totalTokens: bigCount('Tokens of all models.'),
  totalCalls: bigCount('Number of calls of all models.'),
};

export const usageWindow = object('Usage since the previous heartbeat.', usageMembers);

/** The usage window of one heartbeat. */
export interface UsageWindow extends TypeOf<typeof usageWindow> {}

export const usageReport = object('Usage that the agent itself reports.', {
  source: oneOf('Marks a report of the agent itself.', ['agent-sdk']),
  ...usageMembers,
  models: list('One entry per model.', modelUsage, { max: MAX_REPORTED }),
});

/** The agent's own `GET /platform/usage`, before its totals are compared, and `GET /usage` if the agent has one. */
export interface AgentUsageReport extends TypeOf<typeof usageReport> {}

export const usageTotals = object('Usage of the current UTC day; absent: the windows are summed.', {
  tokensToday: count('Tokens of the current UTC day.'),
  'costTodayUsd?': amount('Absent without prices in the manifest.', 1e12),
});

/** Tokens and cost of the current UTC day. */
export interface UsageTotals extends TypeOf<typeof usageTotals> {}
