import { bodyText, type Encoding } from '../../core/egress/body-text.ts';
import { readJson } from '../../core/egress/wires/exact-json.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import type { HeaderList } from '../proxy/headers.ts';
import { codingsOf, decodedBody, type Coding } from './codings.ts';

/** A body that was read as JSON. */
export interface JsonBody {
  /** undefined: not JSON, also for the most lenient client. */
  value: unknown;
  /** Without codings. */
  bytes: Buffer;
  /** The text of the document. */
  text: string;
  encoding: Encoding;
  /** The document is JSON as its standard defines it, in UTF-8. */
  isStrict: boolean;
  /** The bytes are those of the text, so that members can be inserted. */
  isPlain: boolean;
}

export const NO_BODY: JsonBody = {
  value: undefined,
  bytes: Buffer.alloc(0),
  text: '',
  encoding: 'utf8',
  isStrict: true,
  isPlain: true,
};

/**
 * Reads a body as its receivers do, whatever its content type is. A body is first read without its codings, because many servers
 * ignore the header. `tooLarge`: it would be larger than `maxBytes` without its codings.
 */
export function readJsonBody(
  raw: Buffer,
  codings: readonly Coding[],
  maxBytes: number,
): JsonBody | 'too-large' {
  const plain = documentIn(raw);
  if (plain.value !== undefined || codings.length === 0) return plain;
  const decoded = decodedBody(raw, codings, maxBytes);
  if (decoded === 'too-large') return decoded;
  return decoded === null ? plain : { ...documentIn(decoded), isPlain: false };
}

/** As `readJsonBody`, of a request. */
export function readRequestBody(raw: Buffer, headers: HeaderList, maxBytes: number): JsonBody | 'too-large' {
  const body = readJsonBody(raw, codingsOf(headers), maxBytes);
  return body === 'too-large' ? body : firstDocument(body);
}

function documentIn(bytes: Buffer): JsonBody {
  const { text, encoding } = bodyText(bytes);
  const isUtf8 = encoding === 'utf8';
  const value = jsonOf(text);
  if (value !== undefined) return { value, bytes, text, encoding, isStrict: isUtf8, isPlain: isUtf8 };
  return { value: readJson(text), bytes, text, encoding, isStrict: bytes.length === 0, isPlain: isUtf8 };
}

/** V8's message about text after a document. */
const AFTER_DOCUMENT = /after JSON at position (\d+)/;

/** The first document of a body: servers in Go, such as Ollama, ignore what follows it. */
function firstDocument(body: JsonBody): JsonBody {
  if (body.value !== undefined || !body.text.startsWith('{')) return body;
  try {
    JSON.parse(body.text);
    return body;
  } catch (error) {
    const [, end] = AFTER_DOCUMENT.exec((error as Error).message) ?? [];
    if (end === undefined) return body;
    const text = body.text.slice(0, Number(end));
    return { ...body, value: jsonOf(text), text, isPlain: false };
  }
}
