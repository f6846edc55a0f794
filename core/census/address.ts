import type { SocketAddress } from './socket-table.ts';

/** The address as text: `192.0.2.1`, or IPv6 with the longest run of zeros shortened (RFC 5952). */
export function addressText({ family, words }: SocketAddress): string {
  if (family === 4) return ipv4Text(words[3]);
  return ipv6Text(words);
}

function ipv4Text(word: number): string {
  return `${word >>> 24}.${(word >>> 16) & 0xff}.${(word >>> 8) & 0xff}.${word & 0xff}`;
}

/** The URL standard shortens addresses in the same way. */
function ipv6Text(words: readonly number[]): string {
  const groups = words.flatMap((word) => [word >>> 16, word & 0xffff]);
  const text = groups.map((group) => group.toString(16)).join(':');
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** Whether the address is the unspecified address, which a socket without a peer has. */
export function isUnspecified({ family, words }: SocketAddress): boolean {
  return words[3] === 0 && (family === 4 || (words[0] === 0 && words[1] === 0 && words[2] === 0));
}

export function isLoopback({ family, words }: SocketAddress): boolean {
  if (family === 4) return words[3] >>> 24 === 127;
  return words[0] === 0 && words[1] === 0 && words[2] === 0 && words[3] === 1;
}

/** Parses an IP address into the form of the socket tables; null: not an IP address. A zone (`%eth0`) is ignored. */
export function parseIp(text: string): SocketAddress | null {
  const plain = text.split('%', 1)[0] ?? '';
  const v4 = parseIpv4(plain);
  if (v4 !== null) return { family: 4, words: [0, 0, 0, v4] };
  return parseIpv6(plain);
}

function parseIpv4(text: string): number | null {
  if (!/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text)) return null;
  const bytes = text.split('.').map(Number);
  if (bytes.some((byte) => byte > 255)) return null;
  return bytes.reduce((word, byte) => word * 256 + byte, 0);
}

function parseIpv6(text: string): SocketAddress | null {
  if (!text.includes(':') || !/^[0-9a-f:.]+$/i.test(text)) return null;
  const plain = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1);
  if (plain === undefined) return null;
  const [head = [], tail = []] = plain.split('::').map(groupsOf);
  const groups = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  const word = (index: number): number => (groups[2 * index] ?? 0) * 65_536 + (groups[2 * index + 1] ?? 0);
  const words: SocketAddress['words'] = [word(0), word(1), word(2), word(3)];
  const isMapped = words[0] === 0 && words[1] === 0 && words[2] === 0xffff;
  return { family: isMapped ? 4 : 6, words };
}

const groupsOf = (side: string): number[] =>
  side === '' ? [] : side.split(':').map((group) => parseInt(group, 16));

/**
 * The network that a provider usually uses for one service: /24 of an IPv4 address, /48 of an IPv6 address. The responses of
 * a DNS server for one name, at different times, are often in one of them.
 */
export function neighbourhoodOf({ family, words }: SocketAddress): string {
  if (family === 4) return `4/${words[3] >>> 8}`;
  return `6/${words[0]}/${words[1] >>> 16}`;
}
