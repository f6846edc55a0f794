import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** The path of the MCP server that requires a token. */
export const PROTECTED_PATH = '/protected';
/** A token that the server accepts. */
export const TOKEN = 'token-of-the-shop';
const METADATA = '/.well-known/oauth-protected-resource';

/**
 * Serves the authorization server of an MCP server at the same address (RFC 8414, with the grant `client_credentials`), and the
 * metadata of the server (RFC 9728). As RFC 8707 permits, it issues tokens only for the address of the server. Rejects requests
 * to the server without a token. Returns false if it has not answered.
 */
export function respondOAuth(
  request: IncomingMessage,
  response: ServerResponse,
  { pathname, url }: { pathname: string; url: string },
): boolean {
  const resource = url + PROTECTED_PATH;
  const json = (status: number, body: object): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  if (pathname === METADATA + PROTECTED_PATH) json(200, { resource, authorization_servers: [url] });
  else if (pathname === '/.well-known/oauth-authorization-server')
    json(200, {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      response_types_supported: ['code'],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
    });
  else if (pathname === '/token')
    void textOf(request).then((text) => {
      if (new URLSearchParams(text).get('resource') === resource)
        json(200, { access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 });
      else json(400, { error: 'invalid_target' });
    });
  else if (pathname === PROTECTED_PATH && request.headers.authorization !== `Bearer ${TOKEN}`)
    response
      .writeHead(401, {
        'www-authenticate': `Bearer resource_metadata="${url}${METADATA}${PROTECTED_PATH}"`,
      })
      .end();
  else return false;
  return true;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  await once(request, 'end');
  return text;
}
