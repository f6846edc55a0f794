import type { AgentRow as AgentListItem } from '../../core/shapes/agent-row.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import type { GapReport } from '../../core/shapes/gap.ts';

/** One row of `GET /api/v1/agents`. */
export type AgentRow = Pick<
  AgentListItem,
  'agentName' | 'phase' | 'grade' | 'score' | 'tokens' | 'evidence' | 'proved' | 'compliant' | 'lastSeen'
>;

/** The gap with its evidence. */
export type ShownGap = GapReport & { evidence: EvidenceReport | null };

/** Client for the used part of the control plane's admin API. */
export class ControlPlaneClient {
  readonly #url: string;
  readonly #adminKey: string;

  constructor(url: string, adminKey: string) {
    this.#url = url;
    this.#adminKey = adminKey;
  }

  /** Registers an agent and returns its key. */
  async register(agentName: string): Promise<string> {
    const { apiKey } = await this.#request<{ apiKey: string }>('/api/v1/register', {
      method: 'POST',
      body: JSON.stringify({ agentName, runtime: 'local' }),
    });
    return apiKey;
  }

  agents(): Promise<AgentRow[]> {
    return this.#request('/api/v1/agents');
  }

  gap(agentName: string): Promise<ShownGap> {
    return this.#request(`/api/v1/agents/${agentName}/gap`);
  }

  async #request<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await fetch(this.#url + path, {
      ...init,
      headers: { 'x-admin-key': this.#adminKey, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(5_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  }
}
