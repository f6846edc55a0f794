import type { Grade, ReportSource, EvidenceTier, ItemKind } from '../../core/shapes/values.ts';

/** What the sidecar showed of one example agent. Each value equals the count of the vendor. */
export interface ExampleResult {
  /** As in its row. */
  folder: string;
  versions: Record<string, string>;
  /** Of a conversation with tool calls: `GET /audit` and `GET /usage`. */
  conversation: { models: string[]; tools: string[]; guardrails: string[]; calls: number; tokens: number };
  /** Of a message with personal data. */
  blocked: { status: number; guardrails: string[]; isReportedBlocked: boolean; calls: number };
  /** Of a request after the daily budget: the calls of the model are those of the vendor. */
  denial: { status: number; violations: string[]; calls: number };
  /** `GET /gap` after the conversation. */
  gap: { score: number; grade: Grade; source: ReportSource };
  /** `GET /gap`: each declared item with its tier. */
  evidence: { percent: number; items: { kind: ItemKind; name: string; tier: EvidenceTier }[] };
  /** `GET /explore`: the declared tools that the agent has registered. */
  registeredTools: string[];
}
