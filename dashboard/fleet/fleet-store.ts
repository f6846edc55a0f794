import { signal, type ReadonlySignal } from '@preact/signals';
import { keyOf } from '../api/agent-item.ts';
import type { FleetEvent, AgentRow } from '../../core/shapes/agent-row.ts';
import { ApiError, getPage, type Page } from '../api/client.ts';
import { followStream, type LiveState } from '../api/live.ts';
import { session } from '../session.ts';
import { applyChanges, type AgentMap } from './merge.ts';

export interface Progress {
  loaded: number;
  /** null: not known. */
  total: number | null;
}

const FIRST_PAGE = '/api/v1/agents?limit=1000&trend=true';
/** The list is loaded when the stream is ready, so that no change is missed; or after this time, if the stream is not. */
const READY_MS = 1_500;
/** Without a stream, the list is loaded again and again. */
const POLL_MS = 60_000;
/** Changes that arrive within this time are shown together. */
const BATCH_MS = 250;
/** Rows do not change while the reader scrolls, and this time longer. */
const HOLD_MS = 250;

const state = {
  agents: signal<readonly AgentRow[]>([]),
  /** null: no request is under way. */
  progress: signal<Progress | null>(null),
  /** Why the last request failed. */
  error: signal<ApiError | null>(null),
  live: signal<LiveState>('connecting'),
  /** Whether all agents were loaded once. */
  isComplete: signal(false),
};

/** The agents as the server reported them. They stay while another page is shown. */
export const fleet: { [K in keyof typeof state]: ReadonlySignal<(typeof state)[K]['value']> } = state;

let known: AgentMap = new Map();
/** Changes during a request, whose response may be older than they are. */
let late: FleetEvent[] = [];
let loading: AbortController | null = null;
let publishTimer: ReturnType<typeof setTimeout> | undefined;
let heldUntil = 0;

session.subscribe(({ kind }) => {
  if (kind === 'signed-in') return;
  known = new Map();
  state.agents.value = [];
  state.isComplete.value = false;
  state.error.value = null;
});

/** Loads the agents and follows their changes until the returned function is called. */
export function openFleet(): () => void {
  state.live.value = 'connecting';
  const stop = followStream('/api/v1/stream', {
    onState: (next) => {
      state.live.value = next;
    },
    onEvent: (name, data) => {
      if (name === 'ready') void reloadFleet();
      if (name === 'agents') receive(JSON.parse(data) as FleetEvent);
    },
  });
  const start = setTimeout(() => {
    if (state.live.value !== 'live') void reloadFleet();
  }, READY_MS);
  const poll = setInterval(() => {
    if (state.live.value !== 'live' && !document.hidden) void reloadFleet();
  }, POLL_MS);
  return () => {
    stop();
    clearTimeout(start);
    clearInterval(poll);
    clearTimeout(publishTimer);
    publishTimer = undefined;
    loading?.abort();
    loading = null;
    state.progress.value = null;
  };
}

/** Loads all agents. The earlier ones stay until the last page is there; the first time, each page is shown. */
export async function reloadFleet(): Promise<void> {
  loading?.abort();
  const controller = new AbortController();
  loading = controller;
  late = [];
  const next: AgentMap = new Map();
  state.progress.value = { loaded: 0, total: null };
  try {
    for (let path: string | null = FIRST_PAGE; path !== null;) {
      const page: Page<AgentRow> = await getPage<AgentRow>(path, controller.signal);
      for (const agent of page.items) next.set(keyOf(agent), agent);
      state.progress.value = { loaded: next.size, total: page.total };
      if (!state.isComplete.value) show(next);
      path = page.next;
    }
    for (const change of late) applyChanges(next, change);
    show(next);
    state.isComplete.value = true;
    finish(controller, null);
  } catch (reason) {
    if (reason instanceof ApiError) finish(controller, reason);
    else if (!controller.signal.aborted) throw reason;
  }
}

/** Call while the reader scrolls. */
export function holdUpdates(): void {
  heldUntil = performance.now() + HOLD_MS;
}

function finish(controller: AbortController, reason: ApiError | null): void {
  if (loading !== controller) return;
  loading = null;
  state.progress.value = null;
  state.error.value = reason;
}

function show(next: AgentMap): void {
  known = next;
  state.agents.value = [...next.values()];
}

function receive(change: FleetEvent): void {
  if (loading !== null) late.push(change);
  // Until all agents are there, the map of the request is the one that is shown.
  if (!state.isComplete.value) return;
  applyChanges(known, change);
  publishTimer ??= setTimeout(publish, BATCH_MS);
}

function publish(): void {
  publishTimer = undefined;
  if (performance.now() < heldUntil) publishTimer = setTimeout(publish, BATCH_MS);
  else state.agents.value = [...known.values()];
}
