import { describe, expect, test } from '@jest/globals';
import { isPossibleKey, nextSession, type Session, type SessionEvent } from './next-session.ts';

const OUT: Session = { kind: 'signed-out', reason: null };
const IN: Session = { kind: 'signed-in' };
const DISABLED: Session = { kind: 'disabled' };
const WRONG: Session = { kind: 'signed-out', reason: 'wrong-key' };
const EXPIRED: Session = { kind: 'signed-out', reason: 'expired-key' };

describe('the session', () => {
  test.each<[string, Session, SessionEvent, Session]>([
    ['an accepted key signs in', OUT, 'accepted', IN],
    ['an accepted key signs in after a wrong key', WRONG, 'accepted', IN],
    ['a refused key of the form is wrong', OUT, 'wrong-key', WRONG],
    ['a refused key of the form is wrong after an expired key', EXPIRED, 'wrong-key', WRONG],
    ['a key that worked and is refused has expired', IN, 'wrong-key', EXPIRED],
    ['a key that worked and is not read has expired', IN, 'no-key', EXPIRED],
    ['a server without a key disables the dashboard', IN, 'disabled', DISABLED],
    ['a server without a key disables the form', OUT, 'disabled', DISABLED],
    ['signing out gives no reason', IN, 'sign-out', OUT],
    ['a disabled dashboard can be tried again', DISABLED, 'sign-out', OUT],
    ['an error of the server keeps the session', IN, 'server', IN],
    ['a failed connection keeps the session', IN, 'offline', IN],
  ])('%s', (_title, before, event, after) => expect(nextSession(before, event)).toEqual(after));
});

test.each([
  ['0123456789abcdef', true],
  ['', false],
  ['with space', false],
  ['ключ', false],
  ['line\nbreak', false],
])('the key %j can be sent: %s', (text, isPossible) => expect(isPossibleKey(text)).toBe(isPossible));
