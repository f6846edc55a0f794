import { Socket } from 'node:net';

/** As `onread` of Node.js. */
interface ReadInto {
  buffer: Uint8Array;
  callback: (count: number, bytes: Uint8Array) => boolean;
}

/** What `onread` sets on a socket that connects. Node.js has no such option for the sockets that a server accepts. */
type Members = Record<symbol, unknown> & {
  _handle?: { useUserBuffer?: (buffer: Uint8Array) => void } | null;
};

const symbols = Object.getOwnPropertySymbols(
  new Socket({ onread: { buffer: Buffer.alloc(1), callback: () => true } }),
);
const symbolOf = (name: string): symbol | undefined =>
  symbols.find(({ description }) => description === name);
const BUFFER = symbolOf('kBuffer');
const CALLBACK = symbolOf('kBufferCb');

/**
 * Lets an accepted socket read into `buffer` for the rest of its life, because memory for each read costs more than the parsing of most
 * requests. `callback` gets the number of bytes, and returns false to stop reading until `resume`. Returns false, and changes nothing, if
 * the socket is not connected, already has a buffer, or if this version of Node.js has other members.
 */
export function readInto(socket: Socket, { buffer, callback }: ReadInto): boolean {
  const members = socket as unknown as Members;
  const handle = members._handle;
  if (BUFFER === undefined || CALLBACK === undefined || members[BUFFER] !== null) return false;
  if (handle?.useUserBuffer === undefined) return false;
  members[BUFFER] = buffer;
  members[CALLBACK] = callback;
  handle.useUserBuffer(buffer);
  return true;
}
