import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';

/**
 * Adds a weak ETag to the JSON responses of a GET route, and sends 304 if the client already has the body. The comparison is
 * not left to Express, which ignores `If-None-Match` in requests with `Cache-Control: no-cache`. fetch() adds that header to
 * every request with `If-None-Match`.
 */
export function conditional(cacheControl: string): RequestHandler {
  return (request, response, next) => {
    response.set('cache-control', cacheControl).vary('accept-encoding');
    response.json = (body: unknown) => {
      const text = JSON.stringify(body);
      const tag = tagOf(text);
      response.set('etag', tag);
      if (isKnown(request.get('if-none-match'), tag)) return response.status(304).end();
      return response.set('content-type', 'application/json').send(text);
    };
    next();
  };
}

/** Weak, because the body may be compressed in several ways. */
const tagOf = (text: string): string =>
  `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`;

function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  const given = (ifNoneMatch ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  return given.includes('*') || given.includes(tag.slice('W/'.length));
}
