import { parseWith } from '../core/shapes/field.ts';
import { list, object, type TypeOf } from '../core/shapes/object.ts';
import { fieldError } from '../core/shapes/problem.ts';
import { agentKey, type registrationBody } from '../core/shapes/registration.ts';
import { jsonOf } from '../core/untrusted/fields.ts';
import { postJson, type PostReply } from './post-json.ts';
import { detailOf, SENDABLE_KEY, urlBelow } from './push-heartbeat.ts';

export interface RegistrationRequest extends Pick<TypeOf<typeof registrationBody>, 'agentName' | 'runtime'> {
  /** Base URL of the control plane; a path in the URL is kept. */
  base: URL;
  /** Sent in a header: visible ASCII only. */
  adminKey: string;
  /** The text of agent.yaml; null: no manifest is sent. */
  manifest: string | null;
  /** PEM; null: the certificates that Node.js trusts. */
  ca: string | null;
  timeoutMs: number;
}

export type RegistrationOutcome =
  /** `isNew`: the agent was not registered before; else its older keys are revoked. */
  | ({ kind: 'registered'; isNew: boolean } & TypeOf<typeof agentKey>)
  /** The control plane rejected the registration. `detail`: its reason, if any. */
  | { kind: 'refused'; status: number; detail: string }
  /** The response is not one of a control plane. */
  | { kind: 'unexpected'; status: number }
  /** No complete response; the agent may be registered. */
  | { kind: 'failed'; error: unknown };

const problems = object('The body of a rejection.', {
  errors: list('The first invalid members.', fieldError, { max: 5, cut: true }),
});

/** `POST /api/v1/register`: requests a key for an agent; never rejects. */
export async function registerAgent(request: RegistrationRequest): Promise<RegistrationOutcome> {
  const { base, adminKey, agentName, runtime, manifest, ca, timeoutMs } = request;
  let response: PostReply;
  try {
    response = await postJson({
      url: urlBelow(base, '/api/v1/register'),
      headers: { 'x-admin-key': adminKey },
      body: JSON.stringify({ agentName, runtime, ...(manifest === null ? {} : { manifest }) }),
      ca,
      timeoutMs,
    });
  } catch (error) {
    return { kind: 'failed', error };
  }
  const { status, body } = response;
  if (status !== 200 && status !== 201)
    return { kind: 'refused', status, detail: reasonIn(body).replaceAll(adminKey, '[secret]') };
  const parsed = parseWith(agentKey, jsonOf(body));
  if (!parsed.ok || !SENDABLE_KEY.test(parsed.value.apiKey)) return { kind: 'unexpected', status };
  return { kind: 'registered', isNew: status === 201, ...parsed.value };
}

/** The detail of a problem body, followed by its field errors. */
function reasonIn(body: string): string {
  const parsed = parseWith(problems, jsonOf(body));
  const fields = parsed.ok ? parsed.value.errors.map(({ path, message }) => `${path} ${message}`) : [];
  return [detailOf(body), ...fields].filter((part) => part !== '').join('; ');
}
