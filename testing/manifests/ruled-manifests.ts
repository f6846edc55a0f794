import fc from '../random/properties.ts';

/** Rules that the generated manifests break and keep. */
export const POLICY = `apiVersion: platform.io/v1
kind: AgentPolicy
metadata: {name: production}
spec:
  rules:
  - {id: models, action: Deny, models: {allowed: ["openai/gpt-4o*", "anthropic/*"]}}
  - {id: tools, action: Deny, severity: critical, tools: {forbidden: ["shell*", "delete_all_*"]}}
  - {id: hosts, action: Warn, hosts: {allowed: ["*.example.com"]}}
  - {id: guardrails, action: Deny, guardrails: {input: [pii-detector]}}
  - {id: budget, action: Deny, budget: {maxMonthlyUSD: 500}}
  - {id: confirm, action: Audit, confirmation: {tools: destructive}}
`;

const model = fc.record({
  provider: fc.constantFrom('openai', 'anthropic', 'mistral'),
  id: fc.constantFrom('gpt-4o-mini', 'gpt-5', 'claude-x'),
  apiKey: fc.constant('$env:KEY'),
});
const names = (...of: string[]) => fc.uniqueArray(fc.constantFrom(...of), { maxLength: 3 });
/** Manifests about which the rules of `POLICY` differ. */
export const ruledManifest = fc.record({
  apiVersion: fc.constant('platform.io/v1'),
  kind: fc.constant('PlatformAgent'),
  metadata: fc.record({
    name: fc.constant('shop'),
    version: fc.constantFrom('1.0.0', '9.9.9'),
    description: fc.constant('Sells.'),
  }),
  spec: fc.record({
    model: fc
      .tuple(model, fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: undefined }))
      .map(([each, maxMonthlyUSD]) => ({
        ...each,
        ...(maxMonthlyUSD !== undefined && { costControls: { maxMonthlyUSD } }),
      })),
    tools: names('shell_exec', 'search', 'delete_all_rows', 'pay').map((all) =>
      all.map((name) => ({ name })),
    ),
    egress: fc.record({
      hosts: names('api.example.com', 'other.org', '*.org'),
      tools: names('web_search', 'she*', 'files_*'),
    }),
    guardrails: fc.constantFrom({}, { input: [{ type: 'pii-detector' }] }),
  }),
});
