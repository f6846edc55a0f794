import type { Manifest } from '../../core/manifest/manifest.ts';
import type { DenialReason } from '../../core/policy/policy-rule.ts';

/** A simple manifest with exactly these policy rules. */
export function plainManifest(name: string, reasons: readonly DenialReason[]): Manifest {
  const has = (reason: DenialReason): boolean => reasons.includes(reason);
  return {
    apiVersion: 'platform.io/v1',
    kind: 'PlatformAgent',
    metadata: { name, version: '1.0.0', description: 'Plain.' },
    spec: {
      model: {
        provider: 'openai',
        id: 'gpt-4.1',
        apiKey: '$env:OPENAI_API_KEY',
        costControls: {
          ...(has('monthly_cost_limit_exceeded') ? { maxMonthlyUSD: 75 } : {}),
          ...(has('daily_token_limit_exceeded') ? { maxTokensPerDay: 1000 } : {}),
        },
      },
      tools: [
        { name: 'drop', annotations: { destructiveHint: has('destructive_tool_without_confirmation') } },
      ],
      guardrails: {
        input: has('pii_detector_not_invoked') ? [{ type: 'pii-detector' }] : [],
        output: has('toxicity_threshold_exceeded') ? [{ type: 'toxicity-filter', threshold: 0.7 }] : [],
      },
      memory: { shortTerm: has('memory_ttl_mismatch') ? { ttlSeconds: 3600 } : {} },
    },
  };
}
