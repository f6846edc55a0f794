import type { ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { agentNameOf } from '../../core/injection/agent-name.ts';
import { ANNOTATIONS } from '../../core/injection/annotations.ts';
import { decide, type Decision } from '../../core/injection/decide.ts';
import { inject } from '../../core/injection/inject.ts';
import { parseReview, type PodReview } from '../../core/injection/parse-review.ts';
import { patchBetween } from '../../core/injection/patch.ts';
import type { Pod } from '../../core/injection/pod.ts';
import { withMinimumMode, type InjectionSettings } from '../../core/injection/settings.ts';
import type { PolicyMode } from '../../core/shapes/values.ts';
import { jsonBody, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { WebhookContext } from '../context.ts';
import {
  ADMISSION_REVIEW,
  BODY_LIMIT,
  MUTATE_PATH,
  rejected,
  send,
  type Measure,
  type ReviewResponse,
} from './reviews.ts';

/** Responds to admission reviews and counts them. */
export function createReviews(context: WebhookContext, measure: Measure) {
  const count = decisionMetrics(context);
  return {
    begin: measure(MUTATE_PATH),
    /** `body`: an AdmissionReview. Throws a Problem for an invalid body, and while no CA exists. */
    respond(body: unknown, response: ServerResponse): void {
      const parsed = parseReview(body);
      if (!parsed.ok) throw new Problem(400, parsed.problem);
      send(response, responseTo(parsed.review, context, count));
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
        ({ body }, response) => reviews.respond(body, response),
      ],
    },
  ];
}

function responseTo(review: PodReview, context: WebhookContext, count: CountDecision): ReviewResponse {
  const installed = context.settings();
  // The guard policy then rejects the pod and reports that the injector did not respond.
  if (installed === null) throw new Problem(503, context.unready() ?? 'this process is not ready');
  const { uid, pod } = review;
  if (pod === null) return { uid, allowed: true };
  const settings = withMinimumMode(installed, minimumModeFor(review, pod, context));
  const decision = decide(pod, settings);
  count(review, decision);
  logDecision(context, review, decision);
  return responseOf(uid, pod, decision, settings);
}

/** The organisation rules may require a stricter mode in the namespace. */
function minimumModeFor({ namespace }: PodReview, { metadata }: Pod, context: WebhookContext): PolicyMode {
  const { organisation } = context;
  const { name } = agentNameOf(metadata ?? {}, metadata?.annotations?.[ANNOTATIONS.agentName.name]);
  return organisation === null ? 'off' : organisation.minimumMode(namespace, name);
}

function responseOf(uid: string, pod: Pod, decision: Decision, settings: InjectionSettings): ReviewResponse {
  if (decision.action === 'skip') return { uid, allowed: true };
  if (decision.action === 'refuse') {
    const message = decision.rejections.map((rejection) => rejection.message).join('; ');
    return rejected(uid, message);
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
