import { FORMATS } from '../../core/manifest/schema-node.ts';
import type { Setting } from './code.ts';
import type { Draft, Item } from './draft.ts';
import type { StoreFound } from './discovery.ts';
import { holdsSecret } from './secrets.ts';
import { found, scalar, type YamlLines } from './yaml-lines.ts';

type Store = Item<StoreFound>;

/** For each kind of memory: the key with its address, and an example of what the code does not show. */
const MEMORIES = [
  ['shortTerm', 'connection', 'ttlSeconds: 3600'],
  ['longTerm', 'connectionString', 'ttlDays: 90'],
  ['vector', 'connectionString', 'namespace: my-agent'],
] as const;

/** A literal address without secrets, or a reference to the variable; null: the manifest cannot have the address. */
function addressText(address: Setting | null): string | null {
  if (address === null) return null;
  const { text, variable } = address;
  // The variable is what the agent reads; its default is often an address of a developer's machine.
  if (variable !== null) return `$env:${variable}`;
  const isAddress = text !== null && new RegExp(FORMATS.address.pattern).test(text) && !holdsSecret(text);
  return isAddress ? scalar(text) : null;
}

export function memorySection(lines: YamlLines, stores: Draft['stores']): void {
  const memories = stores.filter(({ role }) => role !== 'service');
  if (memories.length === 0) return;
  lines.add(1, 'memory:');
  for (const [role, key, example] of MEMORIES) {
    const [store, ...others] = memories.filter((each) => each.role === role);
    if (store === undefined) continue;
    lines.add(2, `${role}:`, found(store)).add(3, `backend: ${scalar(store.backend)}`);
    const address = addressText(store.address);
    if (address !== null) lines.add(3, `${key}: ${address}`);
    lines.comment(3, example);
    for (const other of others) lines.comment(3, `also in the code: ${other.backend} (${found(other)})`);
  }
  if (memories.some(({ role }) => role === 'longTerm'))
    lines.comment(2, 'hygiene: { piiScrubFields: [email, phone], auditLog: true }');
}

export function requiresSection(lines: YamlLines, { variables, stores }: Draft): void {
  const required = variables.filter(({ isOptional }) => !isOptional);
  const optional = variables.filter(({ isOptional }) => isOptional);
  const services = stores.filter(({ role }) => role === 'service');
  const hasKeys = required.length > 0 || services.length > 0;
  if (hasKeys) lines.add(1, 'requires:');
  if (required.length > 0) lines.add(2, 'envVars:');
  for (const variable of required) lines.add(3, `- ${scalar(variable.name)}`, found(variable));
  for (const variable of optional)
    lines.comment(hasKeys ? 2 : 1, `optional variable: ${variable.name} (${found(variable)})`);
  if (services.length > 0) servicesSection(lines, services);
}

function servicesSection(lines: YamlLines, services: readonly Store[]): void {
  lines.add(2, 'services:');
  const counts = new Map<string, number>();
  for (const service of services) {
    const number = (counts.get(service.backend) ?? 0) + 1;
    counts.set(service.backend, number);
    const type = scalar(service.backend);
    if (number === 1) lines.add(3, `- type: ${type}`, found(service));
    else
      lines
        .add(3, `- name: ${scalar(`${service.backend}-${number}`)}`, found(service))
        .add(4, `type: ${type}`);
    const address = addressText(service.address);
    if (address === null) lines.comment(4, 'address: host:port');
    else lines.add(4, `address: ${address}`);
  }
}

const CHAT = /chat|completion|ask|invoke|message|query|prompt/i;
const HEALTH = /\/(?:health\w*|livez?|readyz?|ping)$/;

export function apiSection(lines: YamlLines, { routes, ports, apiTypes }: Draft): void {
  const [port] = ports;
  const [mcp] = apiTypes;
  const chat = routesFor(routes, ['POST', 'ALL'], CHAT);
  const health = routesFor(routes, ['GET', 'ALL'], HEALTH);
  const metrics = routesFor(routes, ['GET', 'ALL'], /\/metrics$/);
  if (port === undefined && chat === undefined && health === undefined && mcp === undefined) {
    lines.comment(1, 'api: { type: rest, port: 8000, chatEndpoint: { path: /v1/chat } }');
    return;
  }
  lines.add(1, 'api:');
  if (mcp !== undefined && chat === undefined) lines.add(2, 'type: mcp', found(mcp));
  else lines.add(2, 'type: rest');
  if (port !== undefined) lines.add(2, `port: ${port.port}`, found(port));
  if (health !== undefined && health.path !== '/health')
    lines.add(2, `healthEndpoint: ${scalar(health.path)}`, found(health));
  if (metrics !== undefined) lines.add(2, `metricsEndpoint: ${scalar(metrics.path)}`, found(metrics));
  if (chat !== undefined) lines.add(2, 'chatEndpoint:').add(3, `path: ${scalar(chat.path)}`, found(chat));
  if (chat?.path.endsWith('/chat/completions')) lines.add(3, 'protocol: openai-compatible');
}

/** The first route whose path matches; for health, `/health` is preferred because it is the default of the manifest. */
function routesFor(
  routes: Draft['routes'],
  methods: readonly string[],
  pattern: RegExp,
): Draft['routes'][number] | undefined {
  const matching = routes.filter(({ method, path }) => methods.includes(method) && pattern.test(path));
  return (
    matching.find(({ path }) => path === '/health') ??
    matching.find(({ path }) => path.includes('chat')) ??
    matching[0]
  );
}
