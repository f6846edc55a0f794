import type { RequestHandler } from 'express';
import { parseManifestReview } from '../../core/injection/parse-review.ts';
import type { GateReply } from '../../core/organisation/gate.ts';
import { jsonBody, whileWaiting, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { WebhookContext } from '../context.ts';
import { ADMISSION_REVIEW, BODY_LIMIT, rejected, send, VALIDATE_PATH, type Measure } from './reviews.ts';

/** The route for ConfigMaps with a manifest. */
export function validateRoutes({ logger, metrics, organisation }: WebhookContext, measure: Measure): Route[] {
  const reviews = metrics.counter(
    'platform_webhook_manifests_total',
    'Written manifests that were compared with the organisation rules, by outcome.',
  );
  const count = measure(VALIDATE_PATH);
  const begin: RequestHandler = (request, response, next) => {
    count(request, response);
    next();
  };
  const respond: RequestHandler = async (request, response) => {
    if (organisation === null) throw new Problem(503, 'the organisation rules are not enabled');
    const parsed = parseManifestReview(request.body);
    if (!parsed.ok) throw new Problem(400, parsed.problem);
    const { uid, namespace } = parsed.review;
    const reply = await organisation.review(parsed.review, whileWaiting(response));
    const outcome = reply.denied === null ? 'allowed' : 'rejected';
    reviews.add({ outcome });
    if (reply.denied !== null) logger.warn('rejected manifest', { namespace, reason: reply.denied });
    send(response, responseOf(uid, reply));
  };
  return [
    {
      method: 'POST',
      path: VALIDATE_PATH,
      access: 'open',
      summary:
        'Receives an AdmissionReview of a ConfigMap with the key `agent.yaml`. Rejects a manifest that breaks a Deny rule of the organisation, with all reasons. 500 while the rules are not known.',
      operation: {
        id: 'reviewManifest',
        body: ADMISSION_REVIEW,
        responses: {
          200: { description: 'The decision.', schema: ADMISSION_REVIEW },
          500: 'The rules, or the labels of the namespace, are not known.',
          503: 'The organisation rules are not enabled, or too many manifests wait.',
        },
      },
      handlers: [begin, jsonBody(BODY_LIMIT, { inflate: false }), respond],
    },
  ];
}

function responseOf(uid: string, { denied, warnings }: GateReply) {
  return {
    ...(denied === null ? { uid, allowed: true } : rejected(uid, denied)),
    ...(warnings.length > 0 && { warnings }),
  };
}
