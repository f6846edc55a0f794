import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { decide, type Decision } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import { parseReview, type PodReview } from '../../core/injection/parse-review.ts';
import { patchBetween } from '../../core/injection/patch.ts';
import type { Pod } from '../../core/injection/pod.ts';
import type { InjectionSettings } from '../../core/injection/settings.ts';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';
import { jsonBody, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { WebhookContext } from '../context.ts';

/** The largest request that a Kubernetes API server accepts, in bytes; webhook/any-pod.apiserver.test.ts checks it. */
export const API_SERVER_LIMIT = 3 * 2 ** 20;
/**
 * A review escapes `<`, `>` and `&` to six bytes each, and repeats the names of a pod's lists in `managedFields`. The pod
 * of a larger review would not be injected.
 */
export const BODY_LIMIT = 2 * 6 * API_SERVER_LIMIT;
export const MUTATE_PATH = '/mutate/pod';

/** The type of the Kubernetes API describes both directions. */
const ADMISSION_REVIEW: JsonSchema = {
  description: 'AdmissionReview of admission.k8s.io/v1.',
  type: 'object',
  required: ['apiVersion', 'kind'],
  properties: {
    apiVersion: { type: 'string', const: 'admission.k8s.io/v1' },
    kind: { type: 'string', const: 'AdmissionReview' },
    request: { type: 'object' },
    response: { type: 'object' },
  },
};

/** `response` of an AdmissionReview. */
type ReviewResponse = { uid: string; allowed: boolean } & Record<string, unknown>;

/** Responds to admission reviews and counts them. */
export function createReviews(context: WebhookContext) {
  const { clock, metrics } = context;
  const count = decisionMetrics(context);
  const requests = metrics.counter(
    'controller_runtime_webhook_requests_total',
    'Admission requests by status code.',
  );
  // A rate over a series that starts with the first failure would miss that failure.
  for (const code of ['200', '500', '503']) requests.add({ webhook: MUTATE_PATH, code }, 0);
  const latency = metrics.histogram(
    'controller_runtime_webhook_latency_seconds',
    'Time to respond to an admission request.',
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
  );
  return {
    /** Counts the request when its response is closed. */
    begin(request: IncomingMessage, response: ServerResponse): void {
      const started = clock.monotonicMs();
      response.once('close', () => {
        // After an incomplete body no response is delivered.
        const code = request.complete || response.headersSent ? response.statusCode : 400;
        requests.add({ webhook: MUTATE_PATH, code: String(code) });
        latency.observe((clock.monotonicMs() - started) / 1000, { webhook: MUTATE_PATH });
      });
    },
    /** `body`: an AdmissionReview. Throws a Problem for an invalid body, and while no CA exists. */
    answer(body: unknown, response: ServerResponse): void {
      const parsed = parseReview(body);
      if (!parsed.ok) throw new Problem(400, parsed.problem);
      send(response, answerTo(parsed.review, context, count));
    },
  };
}

export type Reviews = ReturnType<typeof createReviews>;

export function mutateRoutes(reviews: Reviews): Route[] {
  const measure: RequestHandler = (request, response, next) => {
    reviews.begin(request, response);
    next();
  };
  return [
    {
      method: 'POST',
      path: MUTATE_PATH,
      access: 'open',
      summary:
        'Receives an AdmissionReview of a pod. Responds with the patch that injects the sidecar, or with the reasons for the rejection. 503 while no CA exists.',
      operation: {
        id: 'reviewPod',
        body: ADMISSION_REVIEW,
        responses: {
          200: { description: 'The decision.', schema: ADMISSION_REVIEW },
          503: 'No CA exists yet.',
        },
      },
      handlers: [
        measure,
        jsonBody(BODY_LIMIT, { inflate: false }),
        ({ body }, response) => reviews.answer(body, response),
      ],
    },
  ];
}

function answerTo(review: PodReview, context: WebhookContext, count: CountDecision): ReviewResponse {
  const settings = context.settings();
  // The guard policy then rejects the pod and reports that the injector did not answer.
  if (settings === null) throw new Problem(503, context.unready() ?? 'this process is not ready');
  const { uid, pod } = review;
  if (pod === null) return { uid, allowed: true };
  const decision = decide(pod, settings);
  count(review, decision);
  logDecision(context, review, decision);
  return responseOf(uid, pod, decision, settings);
}

/** Sends head and body together; Node computes the length of the text. */
function send(response: ServerResponse, result: ReviewResponse): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(
    JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: result }),
  );
}

function responseOf(uid: string, pod: Pod, decision: Decision, settings: InjectionSettings): ReviewResponse {
  if (decision.action === 'skip') return { uid, allowed: true };
  if (decision.action === 'refuse') {
    const message = decision.rejections.map((rejection) => rejection.message).join('; ');
    return { uid, allowed: false, status: { status: 'Failure', code: 422, reason: 'Invalid', message } };
  }
  const patch = patchBetween(pod, inject(pod, decision, settings));
  return {
    uid,
    allowed: true,
    ...(decision.warnings.length > 0 && { warnings: decision.warnings }),
    ...(patch.length > 0 && {
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
    }),
  };
}

type CountDecision = (review: PodReview, decision: Decision) => void;

/** Tenants create namespaces, so the series are limited; the oldest is removed first. */
const MAX_REFUSALS = 1_000;

function decisionMetrics({ metrics, clock }: WebhookContext): CountDecision {
  const decisions = metrics.counter(
    'platform_webhook_decisions_total',
    'Admission decisions for pods by action and reason.',
  );
  const refusals = new Map<string, { namespace: string; code: ReturnType<typeof codeOf>; seconds: number }>();
  // A time, because the increase of a counter misses the first event of a new series.
  metrics.gauge(
    'platform_webhook_last_refusal_timestamp_seconds',
    'Unix time of the last rejected pod by namespace and reason, without dry runs; the last 1,000 of them.',
    () =>
      [...refusals.values()].map(({ namespace, code, seconds }) => ({
        labels: { namespace, code },
        value: seconds,
      })),
  );
  return ({ namespace, dryRun }, decision) => {
    decisions.add(labelsOf(decision));
    if (decision.action !== 'refuse' || dryRun) return;
    const code = codeOf(decision);
    refusals.delete(`${namespace} ${code}`);
    refusals.set(`${namespace} ${code}`, { namespace, code, seconds: clock.now().getTime() / 1000 });
    const [oldest] = refusals.keys();
    if (refusals.size > MAX_REFUSALS && oldest !== undefined) refusals.delete(oldest);
  };
}

const codeOf = ({ rejections }: Decision & { action: 'refuse' }) => rejections[0]?.code ?? '';

function labelsOf(decision: Decision): Record<string, string> {
  if (decision.action === 'inject') return { action: 'inject', code: '' };
  if (decision.action === 'skip') return { action: 'skip', code: decision.code };
  return { action: 'refuse', code: codeOf(decision) };
}

function logDecision({ logger }: WebhookContext, review: PodReview, decision: Decision): void {
  const about = {
    namespace: review.namespace,
    // The API server has not validated the name yet, so it may have any length.
    pod: (review.pod?.metadata?.name ?? `${review.pod?.metadata?.generateName ?? ''}*`).slice(0, 253),
    dryRun: review.dryRun,
  };
  if (decision.action === 'inject')
    logger.info('injected pod', { ...about, agent: decision.plan.agentName, mode: decision.plan.mode });
  else if (decision.action === 'refuse')
    logger.warn('rejected pod', { ...about, codes: decision.rejections.map((rejection) => rejection.code) });
  else logger.debug('skipped pod', { ...about, code: decision.code });
}
