import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { errorMonitor, type EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { addressText, parseIp } from '../../core/census/address.ts';
import type { OwnSockets } from '../../core/census/socket-census.ts';

/** Node.js publishes each socket on these channels: the sockets of every library in this process, HTTP and TLS included. */
const [CLIENT, SERVER] = ['net.client.socket', 'net.server.socket'] as const;
/** The kernel lists a closed connection for 60 seconds more (TIME_WAIT). */
const KEPT_MS = 70_000;
const MAX_KEPT = 20_000;
/** The kernel has no route or no local address: it rejects the attempt without counting it. */
const NOT_ATTEMPTED: readonly unknown[] = ['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'];

export interface OwnConnectionsOptions {
  inodes: () => ReadonlySet<number>;
  /** Ports on which the process listens for the agent. */
  ownPorts: readonly number[];
  /** Whether the address belongs to this network namespace, loopback included. */
  isOwnAddress: (address: string) => boolean;
  /** Called with each address that a name of this process resolved to. */
  onLookup: (host: string, address: string) => void;
  /** Monotonic milliseconds. */
  nowMs: () => number;
}

/** The TCP connections of this process. Counts from its creation: create it before the first connection. */
export class OwnConnections implements OwnSockets {
  attempts = 0;
  accepts = 0;
  readonly #options: OwnConnectionsOptions;
  /** Ports of a connection as one number -> remote address -> monotonic milliseconds of its expiry; Infinity while it is open. */
  readonly #ports = new Map<number, Map<string, number>>();
  #inodes: ReadonlySet<number> | null = null;

  constructor(options: OwnConnectionsOptions) {
    this.#options = options;
    subscribe(CLIENT, this.#onClient);
    subscribe(SERVER, this.#onServer);
  }

  has(localPort: number, remotePort: number, remoteAddress: () => string): boolean {
    const ofPair = this.#ports.get(pairOf(localPort, remotePort));
    return ofPair !== undefined && (ofPair.get(remoteAddress()) ?? -Infinity) > this.#options.nowMs();
  }

  hasInode(inode: number): boolean {
    this.#inodes ??= this.#options.inodes();
    return this.#inodes.has(inode);
  }

  /** Call it before each scan: descriptors are read again when they are needed. */
  renew(): void {
    this.#inodes = null;
  }

  close(): void {
    unsubscribe(CLIENT, this.#onClient);
    unsubscribe(SERVER, this.#onServer);
  }

  readonly #onClient = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    socket.on('connectionAttempt', () => (this.attempts += 1));
    // One attempt that fails at once is reported by both events if it was the only one.
    let failures = 0;
    const failed = (error: unknown): void => {
      if (NOT_ATTEMPTED.includes((error as NodeJS.ErrnoException | undefined)?.code)) this.attempts -= 1;
    };
    socket.on('connectionAttemptFailed', (_address, _port, _family, error) => {
      failures += 1;
      failed(error);
    });
    // Not an error listener, which would hide errors that nothing handles.
    (socket as EventEmitter).once(errorMonitor, (error: NodeJS.ErrnoException) => {
      if (failures === 0 && error.syscall === 'connect') failed(error);
    });
    socket.on('lookup', (error: Error | null, address: string, _family: unknown, host: string) => {
      if (error === null && address !== host) this.#options.onLookup(host, address);
    });
    socket.once('connect', () => this.#track(socket));
  };

  readonly #onServer = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    const { localPort, remoteAddress } = socket;
    const { ownPorts, isOwnAddress } = this.#options;
    if (localPort === undefined || remoteAddress === undefined || !ownPorts.includes(localPort)) return;
    if (isOwnAddress(remoteAddress)) this.accepts += 1;
  };

  /** Ports of a connection stay known for some time after its end. */
  #track(socket: Socket): void {
    const { localPort, remotePort, remoteAddress } = socket;
    const parsed = remoteAddress === undefined ? null : parseIp(remoteAddress);
    // A socket of another kind, such as a Unix socket, has no ports.
    if (localPort === undefined || remotePort === undefined || parsed === null) return;
    const [pair, address] = [pairOf(localPort, remotePort), addressText(parsed)];
    this.#keep(pair, address, Infinity);
    socket.once('close', () => this.#keep(pair, address, this.#options.nowMs() + KEPT_MS));
  }

  #keep(pair: number, address: string, untilMs: number): void {
    const nowMs = this.#options.nowMs();
    const ofPair = this.#ports.get(pair) ?? new Map<string, number>();
    this.#ports.delete(pair);
    this.#ports.set(pair, ofPair.set(address, untilMs));
    for (const [oldest, connections] of this.#ports) {
      for (const [each, expiresMs] of connections) if (expiresMs <= nowMs) connections.delete(each);
      if (connections.size > 0 && this.#ports.size <= MAX_KEPT) break;
      this.#ports.delete(oldest);
    }
  }
}

const pairOf = (localPort: number, remotePort: number): number => localPort * 65_536 + remotePort;
