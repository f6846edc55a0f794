import { computed, signal, type ReadonlySignal } from '@preact/signals';
import type { Me } from '../core/shapes/actor.ts';
import { ApiError } from './api/api-error.ts';
import { onReachable } from './api/reachable.ts';
import { request } from './api/request.ts';
import { isPossibleKey, nextSession, type Session, type SessionEvent } from './next-session.ts';
import { ADMIN } from './permissions.ts';

const STORED = 'agent-compliance-admin-key';

let key = readStored();
const state = signal<Session>(key === null ? { kind: 'checking' } : { kind: 'signed-in', me: null });
const signInPath = signal<string | null>(null);

export const session: ReadonlySignal<Session> = state;

/** Who is signed in, with the rights; null: signed out, or not known yet. */
export const me: ReadonlySignal<Me | null> = computed(() =>
  state.value.kind === 'signed-in' ? state.value.me : null,
);

/** Where the sign-in at the identity provider begins; null: the control plane has none. */
export const signOnPath: ReadonlySignal<string | null> = signInPath;

/** The key of this tab; null: signed out, or signed in with a session, whose cookie the page cannot read. */
export const currentKey = (): string | null => key;

/** Reads who is signed in: by the key of this tab, or by the cookie of a session. */
export function openSession(): void {
  void loadMe();
  onReachable(() => {
    const { kind } = state.peek();
    if (kind === 'checking' || (kind === 'signed-in' && me.peek() === null)) void loadMe();
  });
}

/** Tries a key. Returns null, or the error; `session` has the result if the error is about the key. */
export async function signIn(entered: string): Promise<ApiError | null> {
  if (!isPossibleKey(entered)) {
    settle('wrong-key');
    return new ApiError('wrong-key', 'a key has only visible ASCII characters');
  }
  const found = await callerOf(entered);
  if (!(found instanceof ApiError)) {
    store(entered);
    settle(found);
    return null;
  }
  settle(found.kind);
  return found;
}

/**
 * Forgets the key. A session ends at the control plane, and then at the identity provider, which leaves the page. Not with a form:
 * the Content-Security-Policy would also apply to its redirect to the provider. Rejects with an ApiError.
 */
export async function signOut(): Promise<void> {
  if (key === null) {
    const { text } = await request('POST', '/auth/logout', { key: null });
    location.assign((JSON.parse(text) as { location: string }).location);
  } else settle('sign-out');
}

/** Leaves the page of a control plane that accepts no sign-in. */
export function retrySignIn(): void {
  settle('sign-out');
}

/** Ends the session if the error is about the credential of the request. */
export function reportRefusal(error: ApiError, usedKey: string | null): void {
  // An earlier request may fail after a new key was entered.
  if (usedKey !== key) return;
  if (error.signIn !== null) signInPath.value = error.signIn;
  settle(error.kind);
}

/** Without a key: the control plane says where the sign-in is, or the browser has a session. */
async function findSignOn(): Promise<void> {
  const found = await callerOf(null);
  if (found instanceof ApiError) signInPath.value = found.signIn;
  else if (key === null) settle(found);
}

async function loadMe(): Promise<void> {
  const used = key;
  const found = await callerOf(used);
  if (found instanceof ApiError) reportRefusal(found, used);
  else if (used === key) settle(found);
}

async function callerOf(used: string | null): Promise<Me | ApiError> {
  try {
    return JSON.parse((await request('GET', '/api/v1/me', { key: used })).text) as Me;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.kind === 'not-found' && used !== null ? adminOfEarlierVersion(used) : error;
  }
}

/** A control plane of an earlier version has no `/api/v1/me`, and no key but the admin key. */
async function adminOfEarlierVersion(used: string): Promise<Me | ApiError> {
  try {
    await request('GET', '/api/v1/agents?limit=1', { key: used });
    return ADMIN;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

function settle(event: SessionEvent): void {
  const next = nextSession(state.value, event);
  if (next === state.value) return;
  const hadKey = key !== null;
  if (next.kind !== 'signed-in') store(null);
  state.value = next;
  if (hadKey && next.kind === 'signed-out') void findSignOn();
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
