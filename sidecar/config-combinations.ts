import { hostPortOf } from '../core/facts/address.ts';
import { isOwnHost } from '../probe/own-address.ts';
import type { RawConfig } from './config.ts';
import { isCredentialHeader, parseProxies } from './identity/proxy-header.ts';

export const DEFAULT_UPSTREAM = 'http://localhost:8000';

interface Combination {
  name: keyof RawConfig;
  wanted: string;
  isWrong(given: Given): boolean;
}

/** The variables that are set. */
type Given = { [name in keyof RawConfig]?: string };

/** Whether a URL is an address of this sidecar. */
function isOwnAddress(address: string, given: Given): boolean {
  const url = URL.parse(address);
  const ownPorts = [...mainPortsOf(given), ...lanePortsOf(given)].map(Number);
  return url !== null && isOwnHost(url.hostname) && ownPorts.includes(hostPortOf(url).port);
}

function mainPortsOf({ PROXY_PORT = '4000', CONTROL_PLANE_PORT = '4001', OTLP_PORT }: Given): string[] {
  return [PROXY_PORT, CONTROL_PLANE_PORT, ...(OTLP_PORT === undefined ? [] : [OTLP_PORT])];
}

/** The ports of the lanes that are open. */
function lanePortsOf(given: Given): string[] {
  const { EGRESS_LANES, EGRESS_PORT = '4002', EGRESS_CONNECT = 'off', EGRESS_CONNECT_PORT = '4003' } = given;
  return [
    ...(EGRESS_LANES === undefined ? [] : [EGRESS_PORT]),
    ...(EGRESS_CONNECT === 'off' ? [] : [EGRESS_CONNECT_PORT]),
  ];
}

/** Combinations of values that are invalid although each value is valid. */
export const COMBINATIONS: readonly Combination[] = [
  {
    name: 'AUDIT_LOG_PATH',
    wanted: 'set with AUDIT_LOG=file, and only then',
    isWrong: ({ AUDIT_LOG = 'off', AUDIT_LOG_PATH }) =>
      (AUDIT_LOG === 'file') !== (AUDIT_LOG_PATH !== undefined),
  },
  {
    name: 'AUDIT_LOG_FORWARD',
    wanted: 'used with PLATFORM_URL and AUDIT_LOG, unless it is off',
    isWrong: ({ AUDIT_LOG = 'off', AUDIT_LOG_FORWARD = 'off', PLATFORM_URL }) =>
      AUDIT_LOG_FORWARD !== 'off' && (AUDIT_LOG === 'off' || PLATFORM_URL === undefined),
  },
  {
    name: 'AUDIT_LOG_OTLP_URL',
    wanted: 'used with AUDIT_LOG=file, because the events are read from the file',
    isWrong: ({ AUDIT_LOG, AUDIT_LOG_OTLP_URL }) => AUDIT_LOG_OTLP_URL !== undefined && AUDIT_LOG !== 'file',
  },
  {
    name: 'AUDIT_LOG_OTLP_URL',
    wanted: 'the address of a collector, not a port of the sidecar',
    isWrong: (given) =>
      given.AUDIT_LOG_OTLP_URL !== undefined && isOwnAddress(given.AUDIT_LOG_OTLP_URL, given),
  },
  {
    name: 'POLICY_ENGINE',
    wanted: 'used with POLICY_URL when it is opa',
    isWrong: ({ POLICY_ENGINE, POLICY_URL }) => POLICY_ENGINE === 'opa' && POLICY_URL === undefined,
  },
  {
    name: 'POLICY_ENGINE',
    wanted: 'used without POLICY_URL when it is builtin',
    isWrong: ({ POLICY_ENGINE, POLICY_URL }) => POLICY_ENGINE === 'builtin' && POLICY_URL !== undefined,
  },
  {
    name: 'POLICY_SOCKET',
    wanted: 'used with a POLICY_URL with the http: protocol',
    isWrong: ({ POLICY_SOCKET, POLICY_URL }) =>
      POLICY_SOCKET !== undefined && POLICY_URL?.startsWith('http:') !== true,
  },
  {
    name: 'CONTROL_PLANE_PORT',
    wanted: 'different from PROXY_PORT',
    isWrong: ({ CONTROL_PLANE_PORT = '4001', PROXY_PORT = '4000' }) => CONTROL_PLANE_PORT === PROXY_PORT,
  },
  {
    name: 'OTLP_PORT',
    wanted: 'different from PROXY_PORT and CONTROL_PLANE_PORT',
    isWrong: ({ OTLP_PORT, CONTROL_PLANE_PORT = '4001', PROXY_PORT = '4000' }) =>
      OTLP_PORT === PROXY_PORT || OTLP_PORT === CONTROL_PLANE_PORT,
  },
  {
    name: 'EGRESS_PORT',
    wanted: 'different from EGRESS_CONNECT_PORT and the other ports of the sidecar',
    isWrong: (given) => {
      const [lanes, connect] = lanePortsOf(given);
      const others = mainPortsOf(given);
      return (
        lanePortsOf(given).some((port) => others.includes(port)) || (lanes !== undefined && lanes === connect)
      );
    },
  },
  {
    name: 'EGRESS_LANES',
    wanted: 'with upstreams that are not ports of the sidecar',
    isWrong: (given) =>
      (given.EGRESS_LANES ?? '')
        .split(',')
        .some((entry) => isOwnAddress(entry.replace(/^[^=]*=/, ''), given)),
  },
  {
    name: 'OTLP_FORWARD_URL',
    wanted: 'used with OTLP_PORT, because only received exports are forwarded',
    isWrong: ({ OTLP_FORWARD_URL, OTLP_PORT }) => OTLP_FORWARD_URL !== undefined && OTLP_PORT === undefined,
  },
  {
    name: 'OTLP_FORWARD_URL',
    wanted: 'the address of a collector, not a port of the sidecar',
    isWrong: (given) => given.OTLP_FORWARD_URL !== undefined && isOwnAddress(given.OTLP_FORWARD_URL, given),
  },
  {
    name: 'UPSTREAM_URL',
    wanted: "the address of the agent, not the sidecar's own proxy or control port",
    isWrong: (given) => isOwnAddress(given.UPSTREAM_URL ?? DEFAULT_UPSTREAM, given),
  },
  {
    name: 'IDENTITY_HEADER',
    wanted: 'used with IDENTITY_PROXIES, because other clients could set the header',
    isWrong: (given) => given.IDENTITY_HEADER !== undefined && given.IDENTITY_PROXIES === undefined,
  },
  {
    name: 'IDENTITY_HEADER',
    wanted: 'not a header with credentials, because its value is recorded',
    isWrong: ({ IDENTITY_HEADER: name }) => name !== undefined && isCredentialHeader(name),
  },
  {
    name: 'IDENTITY_PROXIES',
    wanted: 'used with IDENTITY_HEADER',
    isWrong: (given) => given.IDENTITY_PROXIES !== undefined && given.IDENTITY_HEADER === undefined,
  },
  {
    name: 'IDENTITY_PROXIES',
    wanted:
      'IP addresses and networks separated by commas, such as 10.0.0.0/8, and not a network of all addresses',
    isWrong: ({ IDENTITY_PROXIES: raw }) => raw !== undefined && parseProxies(raw) === undefined,
  },
  {
    name: 'PLATFORM_TOKEN_FILE',
    wanted: 'unset when PLATFORM_KEY is set, because only one of them can be the credential',
    isWrong: ({ PLATFORM_TOKEN_FILE, PLATFORM_KEY }) =>
      PLATFORM_TOKEN_FILE !== undefined && PLATFORM_KEY !== undefined,
  },
  {
    name: 'PLATFORM_KEY_STORE_PATH',
    wanted: 'used with PLATFORM_KEY, because PLATFORM_TOKEN_FILE is renewed in place',
    isWrong: ({ PLATFORM_KEY_STORE_PATH, PLATFORM_KEY }) =>
      PLATFORM_KEY_STORE_PATH !== undefined && PLATFORM_KEY === undefined,
  },
  {
    name: 'PLATFORM_URL',
    wanted: 'used with PLATFORM_KEY or PLATFORM_TOKEN_FILE, because heartbeats need a credential',
    isWrong: ({ PLATFORM_URL, PLATFORM_KEY, PLATFORM_TOKEN_FILE }) =>
      PLATFORM_URL !== undefined && PLATFORM_KEY === undefined && PLATFORM_TOKEN_FILE === undefined,
  },
];
