import type { EvidenceReport } from '../../core/evidence/evidence.ts';
import type { GapReport } from '../../core/gap/gap.ts';

/** One row of `GET /api/v1/agents`. */
export interface AgentRow {
  agentName: string;
  phase: string;
  grade: string | null;
  score: number | null;
  tokens: number | null;
  /** What of the manifest was shown in the last 24 hours; null: no report has it. */
  evidence: { percent: number; shown: number; declared: number } | null;
  /** Proved score of the audit. */
  proved: number | null;
  /** The condition Compliant. */
  compliant: { status: string; reason: string; message: string } | null;
  lastSeen: string | null;
}

/** The gap with the evidence next to it. */
export type ShownGap = GapReport & { evidence: EvidenceReport | null };

/** The admin side of the control plane, as far as the demo uses it. */
export class ControlPlaneClient {
  readonly #url: string;
  readonly #adminKey: string;

  constructor(url: string, adminKey: string) {
    this.#url = url;
    this.#adminKey = adminKey;
  }

  /** Returns the agent's key. */
  async register(agentName: string): Promise<string> {
    const { apiKey } = await this.#ask<{ apiKey: string }>('/api/v1/register', {
      method: 'POST',
      body: JSON.stringify({ agentName, runtime: 'local' }),
    });
    return apiKey;
  }

  agents(): Promise<AgentRow[]> {
    return this.#ask('/api/v1/agents');
  }

  gap(agentName: string): Promise<ShownGap> {
    return this.#ask(`/api/v1/agents/${agentName}/gap`);
  }

  async #ask<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await fetch(this.#url + path, {
      ...init,
      headers: { 'x-admin-key': this.#adminKey, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(5_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answers ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }
}
