import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';
import type { WebhookContext } from '../context.ts';

/** The largest request that a Kubernetes API server accepts, in bytes; webhook/any-pod.apiserver.test.ts checks it. */
export const API_SERVER_LIMIT = 3 * 2 ** 20;
/**
 * A review escapes `<`, `>` and `&` to six bytes each, and repeats the names of a pod's lists in `managedFields`. The pod
 * of a larger review would not be injected.
 */
export const BODY_LIMIT = 2 * 6 * API_SERVER_LIMIT;

/** The admission reviews of the API server. */
export const MUTATE_PATH = '/mutate/pod';
export const VALIDATE_PATH = '/validate/manifest';
export const REVIEW_PATHS: readonly string[] = [MUTATE_PATH, VALIDATE_PATH];

/** Whether a request is an admission review. The API server appends its time-out as a query. */
export const isReview = ({ url = '' }: IncomingMessage): boolean =>
  REVIEW_PATHS.includes(url.split('?', 1)[0] ?? '');

/** Counts admission reviews when their responses are closed. */
export function createMeasure({ clock, metrics }: WebhookContext) {
  const requests = metrics.counter(
    'controller_runtime_webhook_requests_total',
    'Admission requests by status code.',
  );
  // A rate over a series that starts with the first failure would miss that failure.
  for (const webhook of REVIEW_PATHS)
    for (const code of ['200', '500', '503']) requests.add({ webhook, code }, 0);
  const latency = metrics.histogram(
    'controller_runtime_webhook_latency_seconds',
    'Time to respond to an admission request.',
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
  );
  return (webhook: string) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const started = clock.monotonicMs();
      response.once('close', () => {
        // After an incomplete body no response is delivered.
        const code = request.complete || response.headersSent ? response.statusCode : 400;
        requests.add({ webhook, code: String(code) });
        latency.observe((clock.monotonicMs() - started) / 1000, { webhook });
      });
    };
}

export type Measure = ReturnType<typeof createMeasure>;

/** The type of the Kubernetes API describes both directions. */
export const ADMISSION_REVIEW: JsonSchema = {
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
export type ReviewResponse = { uid: string; allowed: boolean } & Record<string, unknown>;

/** A rejection, which the API server shows to the client. */
export const rejected = (uid: string, message: string): ReviewResponse => ({
  ...{ uid, allowed: false },
  status: { status: 'Failure', code: 422, reason: 'Invalid', message },
});

/** Sends head and body together; Node computes the length of the text. */
export function send(response: ServerResponse, result: ReviewResponse): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(
    JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: result }),
  );
}
