import { signal, type ReadonlySignal } from '@preact/signals';
import { ApiError } from './api/api-error.ts';
import { request } from './api/request.ts';
import { isPossibleKey, nextSession, type Session, type SessionEvent } from './next-session.ts';

const STORED = 'agent-compliance-admin-key';

let key = readStored();
const state = signal<Session>(key === null ? { kind: 'signed-out', reason: null } : { kind: 'signed-in' });

export const session: ReadonlySignal<Session> = state;

/** The admin key of this tab; null: signed out. */
export const adminKey = (): string | null => key;

/** Tries a key. Returns null, or the error; `session` has the result if the error is about the key. */
export async function signIn(entered: string): Promise<ApiError | null> {
  const error = await errorWith(entered);
  if (error === null) store(entered);
  settle(error === null ? 'accepted' : error.kind);
  return error;
}

export function signOut(): void {
  settle('sign-out');
}

/** Ends the session if the error is about the key of the request. */
export function reportRefusal(error: ApiError, usedKey: string | null): void {
  // An earlier request may fail after a new key was entered.
  if (usedKey === key) settle(error.kind);
}

async function errorWith(entered: string): Promise<ApiError | null> {
  if (!isPossibleKey(entered)) return new ApiError('wrong-key', 'a key has only visible ASCII characters');
  try {
    await request('GET', '/api/v1/agents?limit=1', { key: entered });
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function settle(event: SessionEvent): void {
  const next = nextSession(state.value, event);
  if (next === state.value) return;
  if (next.kind !== 'signed-in') store(null);
  state.value = next;
}

function store(value: string | null): void {
  key = value;
  try {
    if (value === null) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, value);
  } catch {
    // A browser that blocks storage keeps the key until the page is reloaded.
  }
}

function readStored(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}
