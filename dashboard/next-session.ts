import type { ApiErrorKind } from './api/api-error.ts';

export type Session =
  | { kind: 'signed-out'; reason: null | 'wrong-key' | 'expired-key' }
  | { kind: 'signed-in' }
  /** The server has no admin key. */
  | { kind: 'disabled' };

export type SessionEvent = 'accepted' | 'sign-out' | ApiErrorKind;

/** The session after a response. Errors that are not about the key do not change it. */
export function nextSession(session: Session, event: SessionEvent): Session {
  switch (event) {
    case 'accepted':
      return { kind: 'signed-in' };
    case 'sign-out':
      return { kind: 'signed-out', reason: null };
    case 'disabled':
      return { kind: 'disabled' };
    case 'wrong-key':
    case 'no-key':
      // A key that worked was changed on the server.
      return { kind: 'signed-out', reason: session.kind === 'signed-in' ? 'expired-key' : 'wrong-key' };
    default:
      return session;
  }
}

/** Keys are at least 16 characters of visible ASCII. A header cannot contain most other texts. */
export const isPossibleKey = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);
