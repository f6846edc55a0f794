import type { Request, RequestHandler, Response } from 'express';
import type { Operation } from '../../../core/openapi/operation.ts';
import { TEXT } from '../../../core/untrusted/json-schema.ts';
import { Problem } from '../../../runtime/problem.ts';
import type { ControlPlaneRoute } from '../../context.ts';
import { DASHBOARD_HEADERS } from '../../dashboard/routes.ts';
import type { Oidc } from './oidc.ts';
import { CALLBACK_PATH, LOGIN_PATH, type SignIn } from './sign-in.ts';

const DISABLED = 'sign-in is disabled: OIDC_ISSUER is not set on the control plane';
const UNAVAILABLE = 'The identity provider is unavailable, or none is configured.';
const parameter = (description: string) => ({ schema: TEXT, description });

const SIGN_IN: Operation = {
  id: 'signIn',
  query: { to: parameter('The path of the dashboard to return to, such as `/#/agents`. Default: `/`.') },
  responses: {
    302: { description: 'To the provider.', headers: { Location: 'Its authorization endpoint.' } },
    503: UNAVAILABLE,
  },
};
const FINISH: Operation = {
  id: 'finishSignIn',
  query: {
    code: parameter('The authorization code.'),
    state: parameter('The state of the sign-in.'),
    iss: parameter('The issuer.'),
    error: parameter('Why the provider rejected the sign-in.'),
  },
  responses: {
    302: { description: 'Signed in.', headers: { Location: 'Where the sign-in began.' } },
    400: 'The sign-in expired, was started in another browser, or has a forged response.',
    401: 'The ID token is not valid.',
    403: 'The provider rejected the sign-in, its token has no valid name, or it sent too many groups.',
    503: UNAVAILABLE,
  },
};
const SIGN_OUT: Operation = {
  id: 'signOut',
  responses: {
    200: {
      description: 'Signed out.',
      schema: { type: 'object', properties: { location: TEXT }, required: ['location'] },
    },
    403: 'A page of another site sent the request.',
    503: 'No identity provider is configured.',
  },
};

export function signInRoutes(context: Pick<Oidc, 'signIn'>): ControlPlaneRoute[] {
  const enabled = (): SignIn => {
    if (context.signIn === null) throw new Problem(503, DISABLED);
    return context.signIn;
  };
  return [
    {
      method: 'GET',
      path: LOGIN_PATH,
      access: 'open',
      summary: 'Redirects to the identity provider, where a person signs in to the dashboard.',
      operation: SIGN_IN,
      handlers: [redirect((request, response) => enabled().begin(request, response))],
    },
    {
      method: 'GET',
      path: CALLBACK_PATH,
      access: 'open',
      summary: 'The redirect URI of the identity provider. Starts a session of the dashboard, in a cookie.',
      operation: FINISH,
      handlers: [redirect((request, response) => enabled().finish(request, response))],
    },
    {
      method: 'POST',
      path: '/auth/logout',
      access: 'open',
      summary:
        'Ends the session of the dashboard. The caller opens `location`, where that of the provider ends.',
      operation: SIGN_OUT,
      handlers: [
        async (request, response) => {
          response.set('cache-control', 'no-store');
          response.json({ location: await enabled().end(request, response) });
        },
      ],
    },
  ];
}

/** Redirects a person. An error is a page for a browser, and a Problem for other clients. */
function redirect(handle: (request: Request, response: Response) => Promise<string>): RequestHandler {
  return async (request, response) => {
    response.set({ ...DASHBOARD_HEADERS, 'Cache-Control': 'no-store' });
    try {
      response.redirect(302, await handle(request, response));
    } catch (error) {
      if (!(error instanceof Problem) || request.accepts('json', 'html') !== 'html') throw error;
      response.status(error.status).set(error.headers).type('html').send(pageOf(error));
    }
  };
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const pageOf = ({ message }: Problem): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign-in failed</title>
<h1>Sign-in failed</h1>
<p>${escaped(message)}</p>
<p><a href="${LOGIN_PATH}">Sign in again</a> · <a href="/">Dashboard</a></p>
</html>
`;
