import { readFile } from 'node:fs/promises';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { exchange, type Exchange } from '../../probe/http-exchange.ts';
import type { Secret } from '../../runtime/secret.ts';
import { remoteAgent, type RemoteAgent } from '../../core/shapes/agent-row.ts';
import { parseWith } from '../../core/shapes/field.ts';
import { list } from '../../core/shapes/object.ts';

/** A control plane outside this cluster, with the key for its agent list. */
export interface OutsideControlPlane {
  /** A path in the URL is kept as a prefix. */
  url: URL;
  adminKey: Secret;
  /** PEM file, read for every poll; null: the CAs that Node.js trusts. */
  caFile: string | null;
}

export type AgentList =
  | { ok: true; agents: RemoteAgent[] }
  /** `reason` contains neither the key nor the URL. */
  | { ok: false; reason: string };

const PAGE_SIZE = 500;
/**
 * A page of the list. One invalid row makes the whole page invalid: without the row, the agent would be treated as deleted and its
 * observation removed. The limit equals the control plane's own.
 */
const PAGE = list('A page of agents.', remoteAgent, { max: 1_000 });
/** Far more than the size of a page with 500 rows. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** More than 100,000 agents indicate an error, such as a `Link` loop. */
const MAX_PAGES = 200;
const TIMEOUT_MS = 15_000;

/** Fetches the complete list, page by page, or returns a reason. With a partial list the missing agents would be deleted. */
export async function fetchAgents(source: OutsideControlPlane, signal: AbortSignal): Promise<AgentList> {
  const ca = await readCa(source.caFile);
  if (ca === null) return failed(`the CA file ${source.caFile} cannot be read`);
  const agents = new Map<string, RemoteAgent>();
  let next: URL | null = firstPage(source.url);
  for (let page = 0; next !== null; page += 1) {
    if (page >= MAX_PAGES) return failed(`the list has more than ${MAX_PAGES} pages`);
    const headers = { 'x-admin-key': source.adminKey.reveal() };
    const response = await exchange(next, {
      headers,
      ca: ca.pem,
      signal,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_PAGE_BYTES,
    });
    const rows = rowsOf(response);
    if (!rows.ok) return rows;
    // An agent that moved between two pages is on both pages.
    for (const each of rows.agents) if (!agents.has(each.agentId)) agents.set(each.agentId, each);
    const { headers: head } = response as Extract<Exchange, { answered: true }>;
    const link = nextPage(head['link'], next);
    if (link === 'elsewhere') return failed('the link to the next page points to another server');
    // If a gateway removed `Link`, all agents after the first page would be treated as deleted.
    if (link === null && agents.size < Number(head['x-total-count'] ?? 0))
      return failed(`the list ends after ${agents.size} of ${String(head['x-total-count'])} agents`);
    next = link;
  }
  return { ok: true, agents: [...agents.values()] };
}

async function readCa(file: string | null): Promise<{ pem: string | undefined } | null> {
  if (file === null) return { pem: undefined };
  return readFile(file, 'utf8').then(
    (pem) => ({ pem }),
    () => null,
  );
}

function firstPage(base: URL): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/api/v1/agents`;
  // Mirrored agents are excluded: two control planes that mirror each other would never remove deleted agents.
  url.search = `?limit=${PAGE_SIZE}&mirrored=false`;
  url.hash = '';
  return url;
}

function rowsOf(response: Exchange): AgentList {
  if (!response.answered) return failed(response.reason);
  const { status, body } = response;
  if (status === 401 || status === 403) return failed(`the admin key was rejected (${status})`);
  if (status !== 200) return failed(`unexpected status ${status}`);
  if (body === null) return failed('the list is too large, incomplete or late');
  const parsed = parseWith(PAGE, jsonOf(body.toString('utf8')));
  if (parsed.ok) return { ok: true, agents: parsed.value };
  const [first] = parsed.errors;
  return failed(
    `the response is not a valid agent list: ${first === undefined ? '' : `${first.path} ${first.message}`}`,
  );
}

/** The next page from the `Link` header. The admin key is never sent to another server. */
function nextPage(header: string | string[] | undefined, current: URL): URL | 'elsewhere' | null {
  const links = [header ?? []].flat().join(', ');
  const target = /<([^<>]*)>\s*;\s*rel="?next"?(?![^",;\s])/.exec(links)?.[1];
  if (target === undefined) return null;
  const wanted = URL.parse(target, current.href);
  if (wanted?.origin !== current.origin) return 'elsewhere';
  // Keeps the current path: a control plane behind a prefix does not know the prefix.
  const url = new URL(current);
  url.search = wanted.search;
  return url;
}

function failed(reason: string): AgentList {
  return { ok: false, reason };
}
