import type { OutgoingHttpHeaders } from 'node:http';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { ApiSchemas, operationsOf, type ApiDocument } from './open-api.ts';

/** A response that a test received, or a part of it. */
export interface SeenResponse {
  method: string;
  url: string;
  status: number;
  headers: OutgoingHttpHeaders;
  body: Buffer;
}

/** Compares responses with an OpenAPI document. */
export class ResponseCheck {
  readonly #operations: ReturnType<typeof operationsOf>;
  readonly #schemas: ApiSchemas;

  constructor(document: ApiDocument) {
    this.#operations = operationsOf(document);
    this.#schemas = new ApiSchemas(document.components);
  }

  /** What the document does not allow; null: nothing. Unknown paths and unsupported methods are not described. */
  problemOf(seen: SeenResponse): string | null {
    const method = seen.method === 'HEAD' ? 'GET' : seen.method;
    const [path = ''] = seen.url.split('?');
    const found = this.#operations.find((each) => each.method === method && each.pattern.test(path));
    const reason = found && this.#reasonOf(seen, found.operation.responses);
    return reason ? `${seen.method} ${seen.url} responded ${seen.status}: ${reason}` : null;
  }

  #reasonOf(
    { status, headers, body }: SeenResponse,
    responses: ReturnType<typeof operationsOf>[number]['operation']['responses'],
  ): string | null {
    const response = responses[String(status)];
    if (response === undefined) return 'the status is not documented';
    // HEAD, 304, and a response whose body is hidden from clients outside loopback.
    if (body.length === 0) return null;
    if (response.content === undefined) return 'a body is not documented';
    const [type = ''] = String(headers['content-type']).split(';');
    const media = response.content[type];
    if (media === undefined) return `the content type ${type} is not documented`;
    const errors = this.#schemas.errors(media.schema, JSON.parse(textOf(body, headers)));
    return errors.length > 0 ? `the body does not match its schema: ${errors.join('; ')}` : null;
  }
}

function textOf(body: Buffer, headers: OutgoingHttpHeaders): string {
  switch (headers['content-encoding']) {
    case 'gzip':
      return gunzipSync(body).toString();
    case 'br':
      return brotliDecompressSync(body).toString();
    case 'deflate':
      return inflateSync(body).toString();
    default:
      return body.toString();
  }
}
