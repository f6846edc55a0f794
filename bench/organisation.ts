// How long it takes to compare 10,000 agents with changed rules of the organisation: `npm run bench:organisation -- [ROUNDS]`.
import { createHash } from 'node:crypto';
import { Organisation } from '../control-plane/organisation/organisation.ts';
import type { AgentPolicy } from '../core/organisation/finding.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { ManifestWorker } from '../runtime/manifest-worker.ts';

const AGENTS = 10_000;
const NAMESPACES = 50;
/** Agents that are compared at the same time. */
const PARALLEL = 50;

const manifestOf = (agent: number): Buffer =>
  Buffer.from(`apiVersion: platform.io/v1
kind: PlatformAgent
metadata: {name: agent-${agent}, version: 1.0.0, description: Answers questions.}
spec:
  model: {provider: openai, id: gpt-4o, apiKey: $env:KEY, costControls: {maxMonthlyUSD: 100}}
  tools: [{name: search}, {name: find_order}, {name: pay, annotations: {destructiveHint: true}}, {name: mail}, {name: t${agent}}]
  egress: {hosts: [api.example.com]}
`);

/** Ten rules. Each round has other limits, so that nothing that is kept applies. */
function policiesOf(round: number): AgentPolicy[] {
  const parsed = parsePolicy({
    apiVersion: 'platform.io/v1',
    kind: 'AgentPolicy',
    metadata: { name: 'production' },
    spec: {
      rules: [
        { id: 'models', action: 'Deny', models: { allowed: ['openai/gpt-4o*', 'anthropic/*'] } },
        { id: 'tools', action: 'Deny', tools: { forbidden: ['shell*', 'delete_all_*', `x${round}*`] } },
        { id: 'hosts', action: 'Warn', hosts: { allowed: ['*.example.com'] } },
        { id: 'guardrails', action: 'Audit', guardrails: { input: ['pii-detector'] } },
        { id: 'budget', action: 'Deny', budget: { maxMonthlyUSD: 500 + round } },
        { id: 'tokens', action: 'Audit', budget: { maxTokensPerDay: 2_000_000 } },
        { id: 'confirm', action: 'Warn', confirmation: { tools: 'destructive' } },
        { id: 'runtime', action: 'Audit', runtime: { minimumMode: 'enforce' } },
        { id: 'result', action: 'Audit', result: { minimumGrade: 'B' } },
        { id: 'proofs', action: 'Audit', proofs: { required: ['SEC-LLM-06'] } },
      ],
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return [parsed.value];
}

/** Calls `task` for each agent, at most `PARALLEL` at once. @returns milliseconds */
async function forEachAgent(task: (agent: number, namespace: string) => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < AGENTS) {
      const agent = next++;
      await task(agent, `team-${agent % NAMESPACES}`);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, run));
  return performance.now() - begin;
}

const { signal } = new AbortController();
const rounds = Number(process.argv[2] ?? 5);
const worker = new ManifestWorker();
let policies: AgentPolicy[] = [];
const organisation = new Organisation(
  {
    policies: () => policies,
    problem: () => null,
    invalid: () => [],
    labelsOf: () => ({ env: 'production' }),
  },
  worker,
);
const hashes: string[] = [];
const parsing = await forEachAgent(async (agent, namespace) => {
  const bytes = manifestOf(agent);
  hashes[agent] = createHash('sha256').update(bytes).digest('hex');
  await organisation.remember(bytes, { namespace, signal });
});
process.stdout.write(`parse ${AGENTS} manifests: ${Math.round(parsing)} ms\n`);
for (let round = 1; round <= rounds; round++) {
  policies = policiesOf(round);
  const at = new Date();
  const judgeAll = () =>
    forEachAgent(async (agent, namespace) => {
      const key = { namespace, name: `agent-${agent}` };
      const { judge } = await organisation.prepare(key, hashes[agent] ?? null, { at, signal });
      if (judge({ phase: 'Healthy' })?.brokenTotal === undefined) throw new Error('not judged');
    });
  const first = await judgeAll();
  const again = await judgeAll();
  process.stdout.write(
    `round ${round}: after a change ${Math.round(first)} ms (at most 2000), without a change ${Math.round(again)} ms\n`,
  );
}
await worker.close();
