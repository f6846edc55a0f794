import type { AgentDetail } from '../../core/shapes/agent-detail.ts';
import type { EgressReport } from '../../core/shapes/egress.ts';
import type { GapReport, Issue } from '../../core/shapes/gap.ts';
import type { ReportSource } from '../../core/shapes/values.ts';

/** `GET /api/v1/agents/{name}/gap`. The Kubernetes store keeps the lists of one instance only. */
export interface GapResponse extends Pick<GapReport, 'score' | 'grade'> {
  source: ReportSource | null;
  issues: Issue[] | null;
  issuesTotal?: number;
  /** ISO 8601 */
  receivedAt: string;
  instance: string;
}

/** `GET /api/v1/agents/{name}/egress`. */
export interface EgressResponse {
  /** null: neither a lane nor a census. */
  egress: EgressReport | null;
  /** ISO 8601 */
  receivedAt: string;
  instance: string;
}

/** An agent in a list of names. */
export interface NamedAgent {
  agentName: string;
  namespace: string;
}

/** What each tab of the agent page gets. */
export interface TabProps {
  detail: AgentDetail;
  reload(): void;
}

/** Milliseconds between two requests of a page that is open. */
export const REFRESH_MS = 10_000;
