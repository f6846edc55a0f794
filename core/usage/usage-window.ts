import { addTokens, NO_TOKENS } from './token-counts.ts';
import type { ModelCall } from '../shapes/request-usage.ts';
import type { ModelUsage, UsageWindow } from '../shapes/usage.ts';

/**
 * The usage ledger: one window to which calls are added. A window is never changed in place, so a heartbeat can send the
 * window itself as a snapshot. The snapshot is subtracted only after the push has succeeded. A failed push therefore loses no
 * counts, and calls recorded in the meantime remain.
 */

/** Maximum number of distinct models. Further models count under one name, so that invented ids cannot exhaust the memory. */
const MAX_MODELS = 99;
const OTHER = '(other)';

export function emptyWindow(startedAt: string): UsageWindow {
  return { windowStartedAt: startedAt, models: [], totalTokens: 0, totalCalls: 0 };
}

export function addCalls(window: UsageWindow, calls: readonly ModelCall[]): UsageWindow {
  if (calls.length === 0) return window;
  const [only] = calls;
  if (only !== undefined && calls.length === 1) {
    const known = window.models.find(({ modelId }) => modelId === only.modelId);
    if (known !== undefined) return withCall(window, known, only);
  }
  const models = new Map(window.models.map((model) => [model.modelId, { ...model }]));
  for (const call of calls) {
    const modelId = models.has(call.modelId) || models.size < MAX_MODELS ? call.modelId : OTHER;
    const sum = models.get(modelId) ?? { modelId, ...NO_TOKENS, callCount: 0 };
    addTokens(sum, call);
    sum.callCount += 1;
    models.set(modelId, sum);
  }
  return windowOf(window.windowStartedAt, [...models.values()]);
}

/** The usual addition, of one call of a known model. The objects of the other models are shared: nothing changes them. */
function withCall(window: UsageWindow, known: ModelUsage, call: ModelCall): UsageWindow {
  const sum = { ...known, callCount: known.callCount + 1 };
  addTokens(sum, call);
  return {
    windowStartedAt: window.windowStartedAt,
    models: window.models.map((model) => (model === known ? sum : model)),
    totalTokens: window.totalTokens + call.totalTokens,
    totalCalls: window.totalCalls + 1,
  };
}

/** The rest of `window` after `shipped`, an earlier snapshot of it, has been delivered. The new window starts at `at`. */
export function subtractWindow(window: UsageWindow, shipped: UsageWindow, at: Date): UsageWindow {
  const sentByModel = new Map(shipped.models.map((model) => [model.modelId, model]));
  const remaining = window.models.map((model) => {
    const sent = sentByModel.get(model.modelId) ?? { ...NO_TOKENS, callCount: 0 };
    return {
      modelId: model.modelId,
      promptTokens: model.promptTokens - sent.promptTokens,
      completionTokens: model.completionTokens - sent.completionTokens,
      totalTokens: model.totalTokens - sent.totalTokens,
      callCount: model.callCount - sent.callCount,
    };
  });
  return windowOf(
    at.toISOString(),
    remaining.filter((model) => model.callCount > 0),
  );
}

function windowOf(windowStartedAt: string, models: ModelUsage[]): UsageWindow {
  return {
    windowStartedAt,
    models,
    totalTokens: models.reduce((sum, model) => sum + model.totalTokens, 0),
    totalCalls: models.reduce((sum, model) => sum + model.callCount, 0),
  };
}
