import type { ClientResponse } from './client-message.ts';
import { recordOf, responseHeaders, type HeaderList } from './headers.ts';

/**
 * Passes on an informational response (1xx) if the client and Node.js support it. Nothing can pause an agent between two of them, and a
 * client that does not read would make the sidecar store all of them, so they are dropped while many bytes wait for the client.
 */
export function writeInformation(
  response: ClientResponse,
  requestId: string,
  status: number,
  raw: HeaderList,
): void {
  if (response.req.httpVersion === '1.0' || response.headersSent) return;
  if (response.writableLength > response.writableHighWaterMark) return;
  if (status === 102) response.writeProcessing();
  if (status !== 103) return;
  const hints = recordOf(responseHeaders(raw, requestId).headers);
  try {
    if (hints['link'] !== undefined) response.writeEarlyHints(hints);
  } catch {
    // Node.js accepts only some forms of Link. Early hints are optional.
  }
}
