import { createOidc, type Oidc } from '../../control-plane/auth/oidc/oidc.ts';
import { signInRoutes } from '../../control-plane/auth/oidc/routes.ts';
import { readConfig } from '../../control-plane/config.ts';
import type { ControlPlaneRoute } from '../../control-plane/context.ts';
import { createApp } from '../../runtime/http-app.ts';
import type { Environment } from '../../runtime/env.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { Problem } from '../../runtime/problem.ts';
import { recordingLogger, type LogEntry } from '../sidecar/recording-logger.ts';
import { ManualClock } from '../time/manual-clock.ts';
import { CLIENT_ID, CLIENT_SECRET, IdentityProvider, type ProviderOptions } from './identity-provider.ts';

export interface SignInRig {
  /** Address of the dashboard. */
  readonly url: string;
  readonly provider: IdentityProvider;
  readonly clock: ManualClock;
  readonly log: LogEntry[];
  /** Starts the control plane again with other variables, at the same address. */
  restart(env?: Environment): void;
  close(): Promise<void>;
}

export interface SignInRigOptions extends Pick<ProviderOptions, 'hasThinTokens'> {
  env?: Environment;
  /** The time of the control plane; the provider has the real one. */
  start?: string;
  isNamed?: (group: string) => boolean;
}

/** The routes of the sign-in, `/me` that shows the caller, and a real provider. */
export async function startSignInRig(options: SignInRigOptions = {}): Promise<SignInRig> {
  const clock = new ManualClock(options.start ?? new Date().toISOString());
  const log: LogEntry[] = [];
  const logger = recordingLogger(log);
  let handler: ReturnType<typeof createApp> | null = null;
  const listener: Listener = await listen({
    port: 0,
    host: '127.0.0.1',
    handler: (request, response) => void handler?.(request, response),
  });
  const url = `http://127.0.0.1:${listener.port}`;
  const provider = await IdentityProvider.open({ publicUrl: url, ...options });
  const restart = (env: Environment = {}): void => {
    const read = readConfig({
      PLATFORM_ADMIN_KEY: 'admin-key-of-a-test',
      OIDC_ISSUER: provider.url,
      OIDC_CLIENT_ID: CLIENT_ID,
      OIDC_CLIENT_SECRET: CLIENT_SECRET,
      PUBLIC_URL: url,
      // No test waits for a key that is derived from the admin key.
      SESSION_SECRET: 'session-secret-of-a-test-with-32-characters',
      ...options.env,
      ...env,
    });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { oidc: config, PLATFORM_ADMIN_KEY: adminKey } = read.config;
    const oidc = createOidc({ config, adminKey, clock, logger, isNamed: options.isNamed ?? null });
    handler = createApp({ logger, routes: [...signInRoutes(oidc), ...pagesOf(oidc)] });
  };
  restart();
  return {
    ...{ url, provider, clock, log, restart },
    close: async () => {
      await listener.close(0);
      await provider.close();
    },
  };
}

/** `/` is the page of the dashboard, which everybody may read; `/me` needs a person. */
function pagesOf({
  bearer,
  session,
}: Oidc): Pick<ControlPlaneRoute, 'method' | 'path' | 'access' | 'summary' | 'handlers'>[] {
  const me: ControlPlaneRoute['handlers'] = [
    async (request, response) => {
      const principal = (await bearer.identify(request)) ?? (await session.identify(request));
      if (principal === null) throw new Problem(401, 'no credential');
      response.json(principal);
    },
  ];
  const page: ControlPlaneRoute['handlers'] = [
    (_request, response) => void response.type('html').send('<!doctype html><title>Dashboard</title>'),
  ];
  const open = { access: 'open', summary: '' } as const;
  return [
    { method: 'GET', path: '/', handlers: page, ...open },
    { method: 'GET', path: '/me', handlers: me, ...open },
    { method: 'POST', path: '/me', handlers: me, ...open },
  ];
}

/** Requests as a browser sends them: with the cookies of each host, and redirects that are followed one by one. */
export class CookieJar {
  readonly #cookies = new Map<string, Map<string, string>>();

  async fetch(url: string, options: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const kept = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, kept);
    const cookie = [...kept].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(options.headers as Record<string, string>), ...(cookie !== '' && { cookie }) };
    const response = await fetch(url, { ...options, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';', 1);
      const at = pair.indexOf('=');
      if (/expires=Thu, 01 Jan 1970/i.test(line)) kept.delete(pair.slice(0, at));
      else kept.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  /** Follows redirects until `isEnd`, or to the end. */
  async follow(
    url: string,
    isEnd: (next: string) => boolean = () => false,
  ): Promise<{ url: string; response: Response }> {
    for (let steps = 0, at = url; ; steps += 1) {
      if (steps > 10) throw new Error(`too many redirects: ${at}`);
      const response = await this.fetch(at);
      const location = response.headers.get('location');
      if (location === null) return { url: at, response };
      at = new URL(location, at).href;
      if (isEnd(at)) return { url: at, response };
    }
  }

  get(url: string, name: string): string | undefined {
    return this.#cookies.get(new URL(url).host)?.get(name);
  }

  set(url: string, name: string, value: string): void {
    const { host } = new URL(url);
    this.#cookies.set(host, (this.#cookies.get(host) ?? new Map<string, string>()).set(name, value));
  }
}
