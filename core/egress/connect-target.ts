import type { ClientHello } from './client-hello.ts';
import { hostName } from './declared.ts';

/** The target of a CONNECT request. */
export interface ConnectTarget {
  /** Lower case, without the brackets of an IPv6 address and without a final dot. */
  host: string;
  port: number;
}

const TARGET = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+):(\d{1,5})$/i;

/** Parses `host:port`; null: not a valid target. */
export function parseConnectTarget(text: string): ConnectTarget | null {
  const [, host = '', digits = ''] = TARGET.exec(text) ?? [];
  const port = Number(digits);
  const name = hostName(host);
  return name === '' || port < 1 || port > 65_535 ? null : { host: name, port };
}

/** Ports on which clients speak TLS from the first byte: another protocol there hides its host. */
const TLS_PORTS: ReadonlySet<number> = new Set([443, 8443]);

export interface HelloRule {
  target: ConnectTarget;
  isIpAddress: boolean;
  hello: Exclude<ClientHello, { kind: 'incomplete' }>;
  /** null: not known, because the manifest has references. */
  isDeclared: (host: string) => boolean | null;
}

/**
 * Why the first bytes of a tunnel contradict its declared target; null: they do not.
 * - A server name must be the name of the target. For a target that is an IP address, it must be a declared host.
 * - A ClientHello without a server name is accepted for an IP address only.
 * - Another protocol than TLS is accepted, except on ports 443 and 8443.
 */
export function helloProblem({ target, isIpAddress, hello, isDeclared }: HelloRule): string | null {
  if (hello.kind === 'not-tls')
    return TLS_PORTS.has(target.port) ? `the connection to port ${target.port} does not use TLS` : null;
  if (hello.kind === 'malformed') return 'the TLS handshake is not valid';
  const { serverName, hasEncryptedHello } = hello;
  if (serverName === null) return isIpAddress ? null : 'the TLS handshake has no server name';
  if (isIpAddress ? isDeclared(serverName) !== false : serverName === target.host) return null;
  return hasEncryptedHello
    ? 'the server name of the TLS handshake is encrypted'
    : 'the TLS handshake has the name of another server';
}
