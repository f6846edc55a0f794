import { describe, expect, test } from '@jest/globals';
import type { Me } from '../core/shapes/actor.ts';
import { isPossibleKey, nextSession, type Session, type SessionEvent } from './next-session.ts';
import { ADMIN } from './permissions.ts';

const OUT: Session = { kind: 'signed-out', reason: null };
const IN: Session = { kind: 'signed-in', me: ADMIN };
/** With a stored key, before the control plane responded. */
const EARLY: Session = { kind: 'signed-in', me: null };
const PERSON: Me = { ...ADMIN, method: 'session', sub: 'alice', until: '2026-03-02T15:30:00.000Z' };
const IN_SESSION: Session = { kind: 'signed-in', me: PERSON };
const CHECKING: Session = { kind: 'checking' };
const DISABLED: Session = { kind: 'disabled' };
const WRONG: Session = { kind: 'signed-out', reason: 'wrong-key' };
const EXPIRED: Session = { kind: 'signed-out', reason: 'expired-key' };
const ENDED: Session = { kind: 'signed-out', reason: 'expired-session' };

describe('the session', () => {
  test.each<[string, Session, SessionEvent, Session]>([
    ['an accepted key signs in', OUT, ADMIN, IN],
    ['an accepted key signs in after a wrong key', WRONG, ADMIN, IN],
    ['a stored key gets its rights', EARLY, ADMIN, IN],
    ['a cookie signs in', CHECKING, PERSON, IN_SESSION],
    ['without a cookie the form is shown, without a reason', CHECKING, 'no-key', OUT],
    ['a control plane of an earlier version shows the form', CHECKING, 'not-found', OUT],
    ['an error of the server shows the form', CHECKING, 'server', OUT],
    ['a failed connection keeps checking', CHECKING, 'offline', CHECKING],
    ['a control plane without sign-on and key is disabled', CHECKING, 'disabled', DISABLED],
    ['a session ends', IN_SESSION, 'no-key', ENDED],
    ['a later request of a session that ended keeps the reason', ENDED, 'no-key', ENDED],
    ['a stored key that is wrong has expired', EARLY, 'wrong-key', EXPIRED],
    ['a missing right keeps the session', IN_SESSION, 'forbidden', IN_SESSION],
    ['a missing right keeps the key', IN, 'forbidden', IN],
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
