import type { Me } from '../core/shapes/actor.ts';
import type { ApiErrorKind } from './api/api-error.ts';

export type SignedOutReason = null | 'wrong-key' | 'expired-key' | 'expired-session';

export type Session =
  /** It is not known yet whether the browser has a session of the identity provider. */
  | { kind: 'checking' }
  | { kind: 'signed-out'; reason: SignedOutReason }
  /** `me` null: the rights are not known yet. */
  | { kind: 'signed-in'; me: Me | null }
  /** The server has neither an admin key nor an identity provider. */
  | { kind: 'disabled' };

/** A caller that the server accepted, or what went wrong. */
export type SessionEvent = Me | 'sign-out' | ApiErrorKind;

/** The session after a response. Errors that are not about the credential do not change it. */
export function nextSession(session: Session, event: SessionEvent): Session {
  if (typeof event === 'object') return { kind: 'signed-in', me: event };
  switch (event) {
    case 'sign-out':
      return { kind: 'signed-out', reason: null };
    case 'disabled':
      return { kind: 'disabled' };
    case 'no-key':
      // Requests that were under way when a session ended fail after its end.
      return session.kind === 'signed-out' ? session : { kind: 'signed-out', reason: reasonOf(session) };
    case 'wrong-key':
      return { kind: 'signed-out', reason: reasonOf(session) ?? 'wrong-key' };
    case 'offline':
      return session;
    default:
      // The form works without an answer about the session.
      return session.kind === 'checking' ? { kind: 'signed-out', reason: null } : session;
  }
}

/** Why a credential that worked is refused: a key was changed on the server. null: there was no credential. */
function reasonOf(session: Session): SignedOutReason {
  if (session.kind !== 'signed-in') return null;
  return session.me?.method === 'session' ? 'expired-session' : 'expired-key';
}

/** Keys are at least 16 characters of visible ASCII. A header cannot contain most other texts. */
export const isPossibleKey = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
