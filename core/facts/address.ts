/** The target of a TCP connection. */
export interface HostPort {
  host: string;
  port: number;
}

/** Default ports by URL scheme or service type (`type: redis`). */
export const PORTS: Readonly<Record<string, number>> = {
  amqp: 5672,
  amqps: 5671,
  bolt: 7687,
  chroma: 8000,
  clickhouse: 8123,
  elasticsearch: 9200,
  http: 80,
  https: 443,
  kafka: 9092,
  mariadb: 3306,
  memcached: 11211,
  milvus: 19530,
  mongodb: 27017,
  mqtt: 1883,
  mysql: 3306,
  nats: 4222,
  neo4j: 7687,
  opensearch: 9200,
  postgres: 5432,
  postgresql: 5432,
  qdrant: 6333,
  rabbitmq: 5672,
  redis: 6379,
  rediss: 6379,
  weaviate: 8080,
  ws: 80,
  wss: 443,
};

/** `scheme://[user[:password]@]host[:port]`; matches the first of several hosts. The user part may contain `@`. */
const URL_FORM = /^([a-z][a-z0-9+.-]*):\/\/(?:[^/?#]*@)?(\[[^\]]+\]|[^:/?#,[\]@]+)(?::(\d+))?(?:[,/?#]|$)/i;
const HOST_FORM = /^(\[[^\]]+\]|[^:/?#[\]@\s]+)(?::(\d+))?$/;

/**
 * Parses `host:port`, a connection URL, or a bare host if the service type has a default port. null: not a TCP address,
 * for example a file, a URL with an unknown scheme and no port, or `mongodb+srv`, which needs a DNS lookup.
 */
export function parseAddress(address: string, type?: string): HostPort | null {
  const text = address.trim();
  const url = URL_FORM.exec(text);
  if (url !== null) {
    const scheme = url[1]?.toLowerCase() ?? '';
    return scheme.endsWith('+srv') ? null : hostPort(url[2], url[3], scheme);
  }
  const plain = HOST_FORM.exec(text);
  return plain === null ? null : hostPort(plain[1], plain[2], type?.toLowerCase() ?? '');
}

/** The host, without the brackets of an IPv6 address, and the port of an http(s) URL. */
export function hostPortOf({ protocol, hostname, port }: URL): HostPort {
  const fallback = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? fallback : Number(port) };
}

function hostPort(host: string | undefined, port: string | undefined, scheme: string): HostPort | null {
  const family = scheme.split('+')[0] ?? '';
  const fallback = Object.hasOwn(PORTS, family) ? PORTS[family] : undefined;
  const number = port === undefined ? fallback : Number(port);
  if (host === undefined || number === undefined || number < 1 || number > 65_535) return null;
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port: number };
}
