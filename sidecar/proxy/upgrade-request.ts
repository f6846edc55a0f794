import { request as httpRequest, type Agent, type ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { hostPortOf } from '../../core/facts/address.ts';
import type { HeaderList } from './headers.ts';
import type { TlsTrust } from './upstream.ts';

/** A request for a WebSocket. */
export interface UpgradeRequest {
  /** Only its scheme, host and port are used. */
  url: URL;
  path: string;
  headers: HeaderList;
  /** false: a connection of its own. */
  agent: Agent | false;
  /** Default: that of Node.js. */
  tls?: TlsTrust | undefined;
}

/** Creates the request, which the caller ends. Throws if it cannot be sent. */
export function upgradeRequest({ url, path, headers, agent, tls }: UpgradeRequest): ClientRequest {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const outgoing = send({
    ...hostPortOf(url),
    ...{ path, setHost: false, agent, ...tls },
    headers: [...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
  });
  // Node.js would silently drop response headers above its limit.
  outgoing.maxHeadersCount = 0;
  return outgoing;
}
