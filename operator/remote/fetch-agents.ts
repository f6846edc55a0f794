import { readFile } from 'node:fs/promises';
import { exchange, type Exchange } from '../../probe/http-exchange.ts';
import type { Secret } from '../../runtime/secret.ts';
import { parseAgents, type OutsideAgent } from './outside-agent.ts';

/** A control plane outside this cluster, and the key to its list. */
export interface OutsideControlPlane {
  /** A path in it is kept. */
  url: URL;
  adminKey: Secret;
  /** PEM, read for every poll; null: the authorities that Node.js trusts. */
  caFile: string | null;
}

export type AgentList =
  | { ok: true; agents: OutsideAgent[] }
  /** `reason` holds neither key nor address. */
  | { ok: false; reason: string };

const PAGE_SIZE = 500;
/** Far more than a page of 500 rows has. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
/** Beyond 100,000 agents something is wrong: a list that goes round in circles, for one. */
const MAX_PAGES = 200;
const TIMEOUT_MS = 15_000;

/** The whole list, page by page, or why there is none: half a list would look as if the other half were gone. */
export async function fetchAgents(source: OutsideControlPlane, signal: AbortSignal): Promise<AgentList> {
  const ca = await authorities(source.caFile);
  if (ca === null) return failed(`the CA file ${source.caFile} cannot be read`);
  const agents = new Map<string, OutsideAgent>();
  let next: URL | null = firstPage(source.url);
  for (let page = 0; next !== null; page += 1) {
    if (page >= MAX_PAGES) return failed(`the list has more than ${MAX_PAGES} pages`);
    const headers = { 'x-admin-key': source.adminKey.reveal() };
    const answer = await exchange(next, {
      headers,
      ca: ca.pem,
      signal,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_PAGE_BYTES,
    });
    const rows = rowsOf(answer);
    if (!rows.ok) return rows;
    // An agent that moved between two pages is on both of them.
    for (const each of rows.agents) if (!agents.has(each.agentId)) agents.set(each.agentId, each);
    const { headers: head } = answer as Extract<Exchange, { answered: true }>;
    const link = nextPage(head['link'], next);
    if (link === 'elsewhere') return failed('the next page is said to be on another server');
    // A gateway that drops `Link` would make all agents beyond the first page look gone.
    if (link === null && agents.size < Number(head['x-total-count'] ?? 0))
      return failed(`the list ends after ${agents.size} of ${String(head['x-total-count'])} agents`);
    next = link;
  }
  return { ok: true, agents: [...agents.values()] };
}

async function authorities(file: string | null): Promise<{ pem: string | undefined } | null> {
  if (file === null) return { pem: undefined };
  return readFile(file, 'utf8').then(
    (pem) => ({ pem }),
    () => null,
  );
}

function firstPage(base: URL): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/api/v1/agents`;
  // What is mirrored there would never end: two that mirror each other would each keep what the other has of it.
  url.search = `?limit=${PAGE_SIZE}&mirrored=false`;
  url.hash = '';
  return url;
}

function rowsOf(answer: Exchange): AgentList {
  if (!answer.answered) return failed(answer.reason);
  const { status, body } = answer;
  if (status === 401 || status === 403) return failed(`the admin key is refused (${status})`);
  if (status !== 200) return failed(`the answer is ${status}`);
  if (body === null) return failed('the list is too large, cut off or late');
  const parsed = parseAgents(parseJson(body));
  if (parsed.ok) return { ok: true, agents: parsed.value };
  const [first] = parsed.errors;
  return failed(
    `the answer is no list of agents: ${first === undefined ? '' : `${first.path} ${first.message}`}`,
  );
}

/** undefined, which is no list, where it is no JSON. */
function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** Where `Link` says that the list goes on; the admin key goes to no other server. */
function nextPage(header: string | string[] | undefined, current: URL): URL | 'elsewhere' | null {
  const links = [header ?? []].flat().join(', ');
  const target = /<([^<>]*)>\s*;\s*rel="?next"?(?![^",;\s])/.exec(links)?.[1];
  if (target === undefined) return null;
  const wanted = URL.parse(target, current.href);
  if (wanted?.origin !== current.origin) return 'elsewhere';
  // The path stays: a control plane behind a prefix does not know the prefix.
  const url = new URL(current);
  url.search = wanted.search;
  return url;
}

function failed(reason: string): AgentList {
  return { ok: false, reason };
}
