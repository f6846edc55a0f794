import type { Socket } from 'node:net';
import { MAX_PREFIX_BYTES, readClientHello, type ClientHello } from '../../core/egress/client-hello.ts';

type KnownHello = Exclude<ClientHello, { kind: 'incomplete' }>;

export interface TunnelOptions {
  client: Socket;
  upstream: Socket;
  /** Bytes that the client sent behind its request. */
  head: Buffer;
  /**
   * Called once, before a byte of the client is forwarded, with the start of its bytes. null: the tunnel ended before the
   * client sent a byte. false: cut the tunnel.
   */
  judge: (hello: KnownHello | null) => boolean;
  /** Milliseconds for a TLS handshake message that has begun. */
  helloMs: number;
  /** Milliseconds without a byte in either direction. */
  idleMs: number;
  /** The same after one side has ended. */
  halfOpenMs: number;
}

/**
 * Chunks in which a TLS handshake message may arrive. Each one is read again with all before it: 32 KiB in single bytes would
 * occupy a processor for seconds. More than the bytes of any usual message.
 */
const MAX_READS = 4_096;

/**
 * Forwards bytes in both directions. What the server sends is forwarded at once, because some protocols begin with the
 * server. What the client sends is held until its first bytes are judged, at most `MAX_PREFIX_BYTES`. A side that does not
 * read slows down the other side.
 */
export function startTunnel(options: TunnelOptions): void {
  const { client, upstream, idleMs, halfOpenMs } = options;
  const sockets = [client, upstream] as const;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  for (const socket of sockets) {
    const other = socket === client ? upstream : client;
    socket.on('error', cut);
    socket.setTimeout(idleMs, cut);
    socket.once('end', () => {
      for (const each of sockets) each.setTimeout(halfOpenMs);
    });
    socket.once('close', () => {
      // After an orderly end the other side may have bytes left to write.
      if (socket.readableEnded) other.end();
      else other.destroy();
    });
  }
  upstream.pipe(client);
  holdHello(options, cut);
}

function holdHello({ client, upstream, head, judge, helloMs }: TunnelOptions, cut: () => void): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const finish = (hello: KnownHello | null): void => {
    clearTimeout(timer);
    client.off('data', receive).off('end', end).off('close', end).pause();
    if (!judge(hello)) {
      cut();
      return;
    }
    if (bytes > 0) upstream.write(Buffer.concat(parts, bytes));
    if (client.readableEnded || client.destroyed) upstream.end();
    else client.pipe(upstream);
  };
  const receive = (chunk: Buffer): void => {
    parts.push(chunk);
    bytes += chunk.length;
    timer ??= setTimeout(() => finish({ kind: 'malformed' }), helloMs).unref();
    const hello = readClientHello(Buffer.concat(parts, Math.min(bytes, MAX_PREFIX_BYTES + 1)));
    if (hello.kind !== 'incomplete') finish(hello);
    else if (parts.length >= MAX_READS) finish({ kind: 'malformed' });
  };
  // The client sent nothing, or the start of a handshake only.
  const end = (): void => finish(bytes === 0 ? null : { kind: 'malformed' });
  client.on('data', receive).once('end', end).once('close', end);
  if (head.length > 0) receive(head);
}
