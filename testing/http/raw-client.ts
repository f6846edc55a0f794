import { connect, type Socket } from 'node:net';

/** A connection of a client with everything that it has received. */
export interface RawClient {
  socket: Socket;
  /** Bytes as Latin-1. */
  text(): string;
  /** Resolves when the connection has ended, also by a reset. */
  closed: Promise<void>;
  isClosed(): boolean;
}

/** Connects and sends these bytes (Latin-1). */
export function openRaw(port: number, bytes = ''): RawClient {
  let text = '';
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => undefined).once('close', () => resolve());
  });
  return { socket, text: () => text, closed, isClosed: () => socket.destroyed };
}
