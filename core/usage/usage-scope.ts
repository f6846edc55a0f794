import { plainPath } from '../untrusted/plain-path.ts';
import type { RequestContent } from './request-content.ts';
import { isToolResult } from './model-responses.ts';
import { wholeResponses } from './whole-responses.ts';

/** The parts of the agent's declared API that usage needs. */
export interface DeclaredApi {
  /** Path of the chat endpoint; undefined: not declared. */
  chatPath: string | undefined;
  /** Whether the agent is an MCP server. Then each tool result is a response of the agent. */
  isMcp: boolean;
}

/** The parts of a request that decide what its response counts for. */
export interface AskedFor {
  /** undefined: POST. */
  method?: string | undefined;
  /** Without query string. */
  path?: string | undefined;
  declared?: DeclaredApi | undefined;
  /** null: the request has no body. undefined: it is not known. */
  request?: RequestContent | null | undefined;
}

/** What is read as usage in one response. */
export interface UsageScope {
  /** The path is that of a model endpoint, so an unreadable body counts as a model response. */
  modelPath: boolean;
  /** Whether usage counts in a JSON document or an event. null: in each. */
  isRead: ((value: unknown) => boolean) | null;
  /** The response counts only if its request had a body. */
  needsBody: boolean;
  /** A POST on the declared chat path, whose response counts in any case. */
  isChat: boolean;
  isMcp: boolean;
  request: RequestContent | null;
}

export const EVERY_RESPONSE: UsageScope = {
  ...{ modelPath: true, isRead: null, needsBody: false, isChat: false, isMcp: false, request: null },
};

const MODEL_PATH =
  /\/(?:(?:chat\/)?completions?|messages|responses|embeddings|v[12]\/chat|api\/(?:chat|generate|embed)|converse)\/?$|:(?:(?:g|streamG)enerateContent|(?:r|streamR)awPredict)$/i;
/** Reads a response of the Responses API that another request created. */
const RETRIEVED = /\/responses\/([^/]+)\/?$/;
/** Methods that ask for what is stored. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'DELETE']);

/** Express ignores the case of a path. */
const isSamePath = (path: string, declared: string | undefined): boolean =>
  declared !== undefined && path.toLowerCase() === plainPath(declared).toLowerCase();

/**
 * Usage counts on the declared chat path and on the paths of model protocols. Elsewhere, a client could store a note with `usage`,
 * so only the whole response of a model to a request with a body counts. null: nothing counts.
 */
export function scopeOf(asked: AskedFor): UsageScope | null {
  const { method, declared, request = null } = asked;
  const path = plainPath(asked.path ?? '');
  const isRead = method !== undefined && READS.has(method);
  const isMcp = declared?.isMcp === true;
  const isChat = isSamePath(path, declared?.chatPath);
  if (isChat || (!isRead && MODEL_PATH.test(path)))
    return { ...EVERY_RESPONSE, isChat: isChat && method === 'POST', isMcp, request };
  const id = method === 'GET' ? RETRIEVED.exec(path)?.[1] : undefined;
  if (isRead && id === undefined) return null;
  const isWhole = wholeResponses(id ?? null);
  return {
    modelPath: false,
    isRead: isMcp ? (value) => isWhole(value) || isToolResult(value) : isWhole,
    needsBody: !isRead && asked.request !== undefined,
    isChat: false,
    isMcp,
    request,
  };
}
