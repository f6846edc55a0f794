import { connect, type Socket } from 'node:net';

const FRAME = { data: 0, headers: 1, reset: 3, settings: 4 } as const;
const END_STREAM = 1;
const END_HEADERS = 4;
const CANCEL = 8;

function frameOf(type: number, flags: number, id: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

const textOf = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);

/** HPACK without the table: each field is a literal. */
const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0]), textOf(name), textOf(value)]);

const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frameOf(FRAME.settings, 0, 0, Buffer.alloc(0)),
]);

/**
 * A client of HTTP/2 that sends exactly these frames. The client of Node.js ends a body before it resets its stream, and sends
 * a reset later than the headers.
 */
export function connectRawHttp2(port: number): {
  socket: Socket;
  /** Sends the head of a POST request, without the end of the stream. */
  post(id: number, path: string, fields: Readonly<Record<string, string>>): void;
  data(id: number, text: string, isLast?: boolean): void;
  reset(id: number): void;
} {
  const socket = connect(port, '127.0.0.1')
    .on('error', () => undefined)
    .resume();
  socket.write(PREFACE);
  return {
    socket,
    post: (id, path, fields) => {
      const pseudo = {
        ':method': 'POST',
        ':scheme': 'http',
        ':path': path,
        ':authority': `127.0.0.1:${port}`,
      };
      const lines = Object.entries({ ...pseudo, ...fields }).map(([name, value]) => literal(name, value));
      socket.write(frameOf(FRAME.headers, END_HEADERS, id, Buffer.concat(lines)));
    },
    data: (id, text, isLast = false) =>
      void socket.write(frameOf(FRAME.data, isLast ? END_STREAM : 0, id, Buffer.from(text))),
    reset: (id) => {
      const code = Buffer.alloc(4);
      code.writeUInt32BE(CANCEL);
      socket.write(frameOf(FRAME.reset, 0, id, code));
    },
  };
}
