import type { AgentDetail } from '../../core/shapes/agent-detail.ts';

/** What each tab of the agent page gets. */
export interface TabProps {
  detail: AgentDetail;
  reload(): void;
}

/** Milliseconds between two requests of a page that is open. */
export const REFRESH_MS = 10_000;
