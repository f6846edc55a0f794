import type { ModelCall, ModelUsage, UsageWindow } from './usage.ts';

/**
 * The usage ledger: one window that grows by calls. A heartbeat ships a snapshot (the window itself, it is never
 * changed in place); what was shipped is subtracted only after the push succeeded, so a failed push loses no count and
 * calls recorded meanwhile stay.
 */

/** Distinct models kept; calls of further ones are counted under one name, so that invented ids cannot fill the memory. */
const MAX_MODELS = 99;
const OTHER = '(other)';

export function emptyWindow(startedAt: string): UsageWindow {
  return { windowStartedAt: startedAt, models: [], totalTokens: 0, totalCalls: 0 };
}

export function addCalls(window: UsageWindow, calls: readonly ModelCall[]): UsageWindow {
  if (calls.length === 0) return window;
  const models = new Map(window.models.map((model) => [model.modelId, { ...model }]));
  for (const call of calls) {
    const modelId = models.has(call.modelId) || models.size < MAX_MODELS ? call.modelId : OTHER;
    const sum = models.get(modelId) ?? { ...NONE, modelId };
    sum.promptTokens += call.promptTokens;
    sum.completionTokens += call.completionTokens;
    sum.totalTokens += call.totalTokens;
    sum.callCount += 1;
    models.set(modelId, sum);
  }
  return windowOf(window.windowStartedAt, [...models.values()]);
}

/** What is left of `window` after `shipped`, an earlier snapshot of it, has arrived; a new window starts at `at`. */
export function subtractWindow(window: UsageWindow, shipped: UsageWindow, at: Date): UsageWindow {
  const gone = new Map(shipped.models.map((model) => [model.modelId, model]));
  const left = window.models.map((model) => {
    const minus = gone.get(model.modelId) ?? NONE;
    return {
      modelId: model.modelId,
      promptTokens: model.promptTokens - minus.promptTokens,
      completionTokens: model.completionTokens - minus.completionTokens,
      totalTokens: model.totalTokens - minus.totalTokens,
      callCount: model.callCount - minus.callCount,
    };
  });
  return windowOf(
    at.toISOString(),
    left.filter((model) => model.callCount > 0),
  );
}

const NONE: ModelUsage = {
  modelId: '',
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
  callCount: 0,
};

function windowOf(windowStartedAt: string, models: ModelUsage[]): UsageWindow {
  return {
    windowStartedAt,
    models,
    totalTokens: models.reduce((sum, model) => sum + model.totalTokens, 0),
    totalCalls: models.reduce((sum, model) => sum + model.callCount, 0),
  };
}
