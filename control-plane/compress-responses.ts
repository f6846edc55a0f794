import { constants } from 'node:zlib';
import compression from 'compression';
import type { RequestHandler } from 'express';

/** Bytes. Smaller bodies fit in two packets anyway. */
const THRESHOLD = 2 * 1024;
/** 256 KiB. The default window of Brotli takes several megabytes for each response. */
const WINDOW_BITS = 18;

const compress = compression({
  threshold: THRESHOLD,
  brotli: { params: { [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS } },
  // A compressed event would wait in the compressor for the next one.
  filter: (request, response) =>
    !String(response.getHeader('content-type')).startsWith('text/event-stream') &&
    compression.filter(request, response),
});

/** The paths of the event streams. */
const EVENTS = /\/(?:stream|directives)$/;

/**
 * Compresses the larger responses to GET requests. Other responses contain keys, or are small and sent very often. The methods
 * of an event stream are not replaced either, because the replaced write() ignores callbacks.
 */
export const compressResponses: RequestHandler = (request, response, next) => {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (isRead && !EVENTS.test(request.path)) compress(request, response, next);
  else next();
};
