import type { Duplex } from 'node:stream';
import type { Logger } from '../../runtime/logger.ts';
import { lingerOn } from './connection-end.ts';

/** Frame types and error code of RFC 9113. */
const SETTINGS = 0x4;
const GOAWAY = 0x7;
const HTTP_1_1_REQUIRED = 0xd;

/** gRPC clients print this reason next to the error code. */
const REASON = 'this proxy serves HTTP/1.1 only';

/** Error code of Node's HTTP/1.1 parser after the last byte of the HTTP/2 connection preface. */
export const HTTP2_PREFACE = 'HPE_PAUSED_H2_UPGRADE';

/** The server's preface (an empty SETTINGS frame) and a GOAWAY frame: no stream was processed. */
const REFUSAL = Buffer.concat([
  frame(SETTINGS, Buffer.alloc(0)),
  frame(GOAWAY, Buffer.concat([uint32(0), uint32(HTTP_1_1_REQUIRED), Buffer.from(REASON)])),
]);

/** Refuses HTTP/2 connections (gRPC, h2c with prior knowledge), which an HTTP/1.1 proxy cannot serve. */
export class Http2Refusals {
  /** Refused connections since the start of the process. */
  count = 0;
  readonly #logger: Pick<Logger, 'warn'>;

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger;
  }

  /** Sends GOAWAY with HTTP_1_1_REQUIRED and closes the connection. Only the first refusal of the process is logged. */
  refuse(socket: Duplex): void {
    this.count += 1;
    if (this.count === 1)
      this.#logger.warn('HTTP/2 connection refused: the proxy port serves HTTP/1.1 only', {
        advice: 'call the agent over HTTP/1.1; run a gRPC agent without the sidecar',
        metric: 'platform_sidecar_http2_refused_total',
      });
    socket.end(REFUSAL);
    lingerOn(socket);
  }
}

/** A connection-level frame (stream 0) without flags. */
function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  return Buffer.concat([head, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
