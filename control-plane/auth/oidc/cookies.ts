import { createHash, hkdfSync } from 'node:crypto';
import type { Request, Response } from 'express';
import { EncryptJWT, errors, jwtDecrypt, type JWTPayload } from 'jose';
import type { Clock } from '../../../runtime/clock.ts';
import type { Secret } from '../../../runtime/secret.ts';
import { signingKeysOf } from '../registration-token.ts';

/** Maximum length of name and value. Browsers drop a cookie above 4,096 bytes without a message; the attributes need 110. */
const MAX_COOKIE = 3_900;
const LABEL = 'agent-compliance session';

/** The `__Host-` prefix: only this host sets the cookie, over TLS, and no subdomain can replace it. */
export const COOKIES = {
  /** The callback is a navigation from another site, for which the browser sends no strict cookie. */
  login: { name: '__Host-platform-login', sameSite: 'lax' },
  session: { name: '__Host-platform-session', sameSite: 'strict' },
} as const;
export type CookieKind = keyof typeof COOKIES;

export interface CookieParts {
  secret: Secret | null;
  previousSecret: Secret | null;
  adminKey: Secret | null;
  clock: Clock;
}

const idOf = (key: Uint8Array): string => createHash('sha256').update(key).digest('base64url').slice(0, 8);

/** Encrypted cookies: no replica stores a session, and each replica can read it. */
export function createCookies({ secret, previousSecret, adminKey, clock }: CookieParts) {
  // A person who has a cookie can test admin keys against it offline, so the derivation from the admin key is slow.
  const sources = [signingKeysOf(secret, adminKey), signingKeysOf(previousSecret, null)].filter(
    (source) => source !== null,
  );

  async function keys(): Promise<Uint8Array[]> {
    const found = await Promise.all(sources.map((source) => source()));
    return found.map(([key]) => new Uint8Array(hkdfSync('sha256', key, '', LABEL, 32)));
  }

  return {
    /** false: the cookie would be too long. */
    async set(
      response: Response,
      kind: CookieKind,
      { payload, until }: { payload: JWTPayload; until: Date },
    ): Promise<boolean> {
      const [key] = await keys();
      if (key === undefined) throw new Error('cookies have no key');
      const text = await new EncryptJWT(payload)
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: idOf(key) })
        .setAudience(kind)
        .setIssuedAt(clock.now())
        .setExpirationTime(until)
        .encrypt(key);
      const { name, sameSite } = COOKIES[kind];
      if (text.length > MAX_COOKIE - name.length) return false;
      const maxAge = until.getTime() - clock.now().getTime();
      response.cookie(name, text, { ...ATTRIBUTES, sameSite, maxAge });
      return true;
    },

    clear(response: Response, kind: CookieKind): void {
      const { name, sameSite } = COOKIES[kind];
      response.clearCookie(name, { ...ATTRIBUTES, sameSite });
    },

    /** undefined: the request has no such cookie; null: it is forged, has expired, or has another key. */
    async read(request: Request, kind: CookieKind): Promise<JWTPayload | null | undefined> {
      const text = cookieOf(request, COOKIES[kind].name);
      if (text === undefined) return undefined;
      const known = await keys();
      try {
        const { payload } = await jwtDecrypt(
          text,
          ({ kid }) => {
            const key = known.find((each) => idOf(each) === kid);
            if (key === undefined) throw new errors.JWEDecryptionFailed();
            return key;
          },
          {
            ...{ audience: kind, currentDate: clock.now(), requiredClaims: ['exp'] },
            keyManagementAlgorithms: ['dir'],
            contentEncryptionAlgorithms: ['A256GCM'],
          },
        );
        return payload;
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
  };
}

export type Cookies = ReturnType<typeof createCookies>;

const ATTRIBUTES = { path: '/', httpOnly: true, secure: true } as const;

function cookieOf(request: Request, wanted: string): string | undefined {
  for (const part of (request.get('cookie') ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === wanted) return value;
  }
  return undefined;
}
