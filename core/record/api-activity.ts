import type { EgressUsage } from '../shapes/egress-call.ts';
import type { EventKind } from '../shapes/audit-event.ts';
import type { Identity } from '../shapes/identity.ts';
import type { Outcome } from '../shapes/values.ts';
import { jsonText } from './canonical.ts';
import type { Facts } from './facts.ts';
import { codesOf } from './outcome-codes.ts';
import { chainOf, LOG_NAME, type Place, type RecordSource } from './record-event.ts';

/** A request or a call: an event of class 6003. */
export interface ApiActivity {
  kind: EventKind;
  /** In epoch milliseconds. */
  time: number;
  /** 2 read, 4 delete, 99 other (OCSF). */
  activity: 2 | 4 | 99;
  operation: string;
  service: string;
  requestId: string | null;
  outcome: Outcome;
  isBlocked: boolean;
  violations: readonly string[];
  statusCode: number | null;
  durationMs: number;
  identity: Identity | undefined;
  /** Address of the client; null: the agent itself. */
  address: string | null;
  /** The host of a call, with a port if it is not that of the scheme; null: a request to the agent. */
  host: string | null;
  model: string | null;
  /** The vendor of the lane; null: not known. */
  provider: string | null;
  usage: EgressUsage | null;
  tools: readonly string[];
  facts: Facts;
}

/** How much of an event its line keeps. */
export interface Limits {
  /** Entries of each list. */
  list: number;
  /** Characters of each text. */
  text: number;
}

/** `untruncatedSize`: bytes of the whole line, of which `limits` keep a part; null: nothing is cut. */
export interface Cut extends Limits {
  untruncatedSize: number | null;
}

const CLASS = 6003;

/** The parts of a line that are the same for all requests and calls of a process, and its variable parts in JCS order. */
export class ApiActivityLines {
  readonly #actor: string;
  readonly #product: string;
  readonly #chain: string;

  constructor(source: RecordSource) {
    const { namespace, agent, version } = source;
    this.#actor = `"app_name":${jsonText(agent)},"app_uid":${jsonText(`${namespace}/${agent}`)}`;
    this.#product = `"product":{"name":"agent-compliance","vendor_name":"Agent Compliance","version":${jsonText(version)}}`;
    // The sequence and the quote follow.
    this.#chain = jsonText(`${chainOf(source)}:`).slice(0, -1);
  }

  line(event: ApiActivity, place: Place, cut: Cut): string {
    const { identity, kind, activity, usage, statusCode, violations } = event;
    const text = (value: string): string =>
      jsonText(value.length > cut.text ? value.slice(0, cut.text) : value);
    const names = (all: readonly string[]): string => all.slice(0, cut.list).map(text).join(',');
    const codes = codesOf(event.outcome, event.isBlocked, violations);
    const [reason] = violations;
    const user = identity?.user === undefined ? '' : `,"user":{"uid":${text(identity.user)}}`;
    const session = identity?.session === undefined ? '' : `,"session":{"uid":${text(identity.session)}}`;
    const request = event.requestId === null ? '' : `"request":{"uid":${text(event.requestId)}},`;
    const isFailed = statusCode === null || statusCode >= 400 || event.isBlocked;
    return (
      `{"action_id":${codes.action},"activity_id":${activity}` +
      (activity === 99 ? ',"activity_name":"Invoke"' : '') +
      `,"actor":{${this.#actor}${session}${user}}` +
      (event.model === null
        ? ''
        : `,"ai_model":{"ai_provider":${text(event.provider ?? place.provider ?? 'unknown')},"name":${text(event.model)}}`) +
      `,"api":{"operation":${text(event.operation)},${request}"service":{"name":${text(event.service)}}}` +
      `,"category_uid":6,"class_uid":${CLASS},"disposition_id":${codes.disposition}` +
      (event.host === null ? '' : `,"dst_endpoint":${destinationOf(event.host, text)}`) +
      `,"duration":${Math.round(event.durationMs)}` +
      (event.outcome === 'deny' ? ',"is_alert":true' : '') +
      (usage === null ? '' : `,${messageContextOf(event.service, usage, text)}`) +
      `,"metadata":{${this.#metadata(event, place, cut, text)}}` +
      (event.tools.length === 0 ? '' : `,"resources":[${resourcesOf(event.tools, cut, text)}]`) +
      `,"severity_id":${codes.severity},"src_endpoint":${sourceOf(event, text)}` +
      (statusCode === null ? '' : `,"status_code":"${statusCode}"`) +
      statusDetailOf(event.outcome, reason, text) +
      `,"status_id":${isFailed ? 2 : 1},"time":${event.time},"type_uid":${CLASS * 100 + activity}` +
      `,"unmapped":{"platform":{${factsText(event.facts, names, text)}` +
      (identity?.reason === undefined ? '' : `"identityReason":${text(identity.reason)},`) +
      `"identitySource":"${identity?.source ?? 'none'}","kind":"${kind}"` +
      (place.manifestDigest === undefined ? '' : `,"manifestDigest":"${place.manifestDigest}"`) +
      `,"outcome":"${event.outcome}","prev":"${place.prev}"` +
      (violations.length === 0 ? '' : `,"violations":[${names(violations)}]`) +
      '}}}'
    );
  }

  #metadata({ requestId }: ApiActivity, { sequence }: Place, cut: Cut, text: Text): string {
    const correlation = requestId === null ? '' : `"correlation_uid":${text(requestId)},`;
    const isCut = cut.untruncatedSize !== null;
    return (
      `${correlation}${isCut ? '"is_truncated":true,' : ''}"log_name":"${LOG_NAME}",${this.#product}` +
      `,"profiles":["ai_operation","security_control"],"sequence":${sequence},"uid":${this.#chain}${sequence}"` +
      `${isCut ? `,"untruncated_size":${cut.untruncatedSize}` : ''},"version":"1.8.0"`
    );
  }
}

type Text = (value: string) => string;

function statusDetailOf(outcome: Outcome, reason: string | undefined, text: Text): string {
  if (reason !== undefined) return `,"status_detail":${text(reason)}`;
  return outcome === 'failOpen' ? ',"status_detail":"policy_unavailable"' : '';
}

/** The client of a request; for a call, the agent in the same pod. */
function sourceOf({ address, host, service }: ApiActivity, text: Text): string {
  if (address !== null) return `{"ip":${text(address)}}`;
  return host === null ? '{"name":"unknown"}' : `{"ip":"127.0.0.1","svc_name":${text(service)}}`;
}

const HOST = /^([a-z0-9][a-z0-9.-]*)(?::(\d{1,5}))?$/i;

function destinationOf(host: string, text: Text): string {
  const [, hostname, port] = HOST.exec(host) ?? [];
  // An address in brackets, or what a client sent instead of a host.
  if (hostname === undefined) return `{"name":${text(host)}}`;
  return `{"hostname":${text(hostname)}${port === undefined ? '' : `,"port":${Number(port)}`}}`;
}

const resourcesOf = (tools: readonly string[], { list }: Cut, text: Text): string =>
  tools
    .slice(0, list)
    .map((name) => `{"name":${text(name)},"type":"tool"}`)
    .join(',');

function messageContextOf(lane: string, usage: EgressUsage, text: Text): string {
  const { promptTokens, completionTokens } = usage;
  return (
    `"message_context":{"ai_role_id":3,"completion_tokens":${completionTokens},"prompt_tokens":${promptTokens}` +
    `,"service":{"name":${text(lane)}},"total_tokens":${promptTokens + completionTokens}}`
  );
}

/** The facts with the comma that follows; empty: no fact is known. */
function factsText(facts: Facts, names: (all: readonly string[]) => string, text: Text): string {
  let members = '';
  for (const [name, value] of Object.entries(facts) as [string, Facts[keyof Facts]][]) {
    if (value === undefined) continue;
    const written =
      typeof value === 'object'
        ? `[${names(value)}]`
        : typeof value === 'string'
          ? text(value)
          : String(value);
    members += `${members === '' ? '' : ','}"${name}":${written}`;
  }
  return members === '' ? '' : `"facts":{${members}},`;
}
