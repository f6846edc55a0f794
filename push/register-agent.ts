import { isoTime, list, object, parseWith, text } from '../core/untrusted/fields.ts';
import type { Runtime } from '../core/observation/runtimes.ts';
import { postJson, type PostReply } from './post-json.ts';
import { detailOf } from './push-heartbeat.ts';

export interface RegistrationRequest {
  /** Base URL of the control plane; a path in it is kept. */
  base: URL;
  /** Goes into a header: visible ASCII. */
  adminKey: string;
  agentName: string;
  runtime: Runtime;
  /** The text of agent.yaml; null: the control plane is told of none. */
  manifest: string | null;
  /** PEM; null: the certificates that Node.js trusts. */
  ca: string | null;
  timeoutMs: number;
}

export type RegistrationOutcome =
  /** `isNew`: it was not registered before; else its older keys no longer work. */
  | { kind: 'registered'; isNew: boolean; agentId: string; apiKey: string; expiresAt: string }
  /** The control plane answered and did not do it. `detail`: its reason, as far as it gives one. */
  | { kind: 'refused'; status: number; detail: string }
  /** An answer that no control plane gives. */
  | { kind: 'strange'; status: number }
  /** No whole answer: it may have been done. */
  | { kind: 'failed'; error: unknown };

/** Visible ASCII, as a header can carry it. */
const KEY = /^[\x21-\x7e]{1,16384}$/;
const granted = object({ agentId: text({ max: 100 }), apiKey: text({ max: 16_384 }), expiresAt: isoTime });
const problems = object({
  errors: list(object({ path: text({ max: 300, cut: true }), message: text({ max: 300, cut: true }) }), {
    max: 5,
    cut: true,
  }),
});

/** `POST /api/v1/register`: a key for an agent; never rejects. */
export async function registerAgent(request: RegistrationRequest): Promise<RegistrationOutcome> {
  const { base, adminKey, agentName, runtime, manifest, ca, timeoutMs } = request;
  let answer: PostReply;
  try {
    answer = await postJson({
      url: new URL(`${base.pathname.replace(/\/+$/, '')}/api/v1/register`, base),
      bearer: null,
      headers: { 'x-admin-key': adminKey },
      body: JSON.stringify({ agentName, runtime, ...(manifest === null ? {} : { manifest }) }),
      ca,
      timeoutMs,
      signal: new AbortController().signal,
    });
  } catch (error) {
    return { kind: 'failed', error };
  }
  const { status, body } = answer;
  if (status !== 200 && status !== 201)
    return { kind: 'refused', status, detail: reasonIn(body).replaceAll(adminKey, '[secret]') };
  const parsed = parseWith(granted, jsonOf(body));
  if (!parsed.ok || !KEY.test(parsed.value.apiKey)) return { kind: 'strange', status };
  return { kind: 'registered', isNew: status === 201, ...parsed.value };
}

/** What a problem body says, with what is wrong with each field. */
function reasonIn(body: string): string {
  const parsed = parseWith(problems, jsonOf(body));
  const fields = parsed.ok ? parsed.value.errors.map(({ path, message }) => `${path} ${message}`) : [];
  return [detailOf(body), ...fields].filter((part) => part !== '').join('; ');
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
