import { expect, test } from '@jest/globals';
import { anyPod } from '../../testing/cluster/any-pod.ts';
import { optedInPod } from '../../testing/cluster/pods.ts';
import fc from '../../testing/random/properties.ts';
import { parseReview } from './parse-review.ts';

const reviewOf = (request: Record<string, unknown> = {}, rest: Record<string, unknown> = {}): unknown => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u-1',
    operation: 'CREATE',
    namespace: 'team-a',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    object: optedInPod(),
    ...request,
  },
  ...rest,
});

test('parses a review of a new pod', () => {
  expect(parseReview(reviewOf({ dryRun: true }))).toEqual({
    ok: true,
    review: { uid: 'u-1', namespace: 'team-a', dryRun: true, pod: optedInPod() },
  });
});

test('keeps unknown fields', () => {
  const pod = { ...optedInPod(), status: { phase: 'Pending' }, metadata: { creationTimestamp: null } };
  expect(parseReview(reviewOf({ object: pod }))).toMatchObject({ ok: true, review: { pod } });
});

test('parses a review of every injectable pod', () => {
  fc.assert(
    fc.property(anyPod, (pod) => {
      expect(parseReview(JSON.parse(JSON.stringify(reviewOf({ object: pod }))))).toMatchObject({ ok: true });
    }),
  );
});

test.each<[string, Record<string, unknown>]>([
  ['another kind', { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } }],
  ['an update', { operation: 'UPDATE' }],
  ['a subresource', { subResource: 'ephemeralcontainers' }],
])('%s results in a review without a pod', (_case, request) => {
  expect(parseReview(reviewOf(request))).toMatchObject({ ok: true, review: { uid: 'u-1', pod: null } });
});

const spec = (fields: Record<string, unknown>) => ({ object: { spec: { containers: [], ...fields } } });

test.each<[unknown, string]>([
  [null, 'AdmissionReview is not an object'],
  [[], 'AdmissionReview is not an object'],
  ['x', 'AdmissionReview is not an object'],
  [{}, 'AdmissionReview.apiVersion is missing'],
  [
    reviewOf({}, { apiVersion: 'admission.k8s.io/v1beta1' }),
    'the body is not an AdmissionReview of admission.k8s.io/v1',
  ],
  [reviewOf({}, { kind: 'List' }), 'the body is not an AdmissionReview of admission.k8s.io/v1'],
  [reviewOf({}, { request: undefined }), 'AdmissionReview.request is not an object'],
  [reviewOf({ uid: 7 }), 'AdmissionReview.request.uid is not text'],
  [reviewOf({ uid: '' }), 'AdmissionReview.request.uid is empty'],
  [reviewOf({ dryRun: 'yes' }), 'AdmissionReview.request.dryRun is not true or false'],
  [reviewOf({ object: null }), 'AdmissionReview.request.object is not an object'],
  [reviewOf({ object: {} }), 'AdmissionReview.request.object.spec is missing'],
  [reviewOf({ object: { spec: {} } }), 'AdmissionReview.request.object.spec.containers is missing'],
  [
    reviewOf({ object: { spec: { containers: {} } } }),
    'AdmissionReview.request.object.spec.containers is not a list',
  ],
  [
    reviewOf(spec({ containers: [{ name: 'a' }, { image: 'x' }] })),
    'AdmissionReview.request.object.spec.containers[1].name is missing',
  ],
  [
    reviewOf(spec({ containers: [{ name: 'a', ports: [{ containerPort: '80' }] }] })),
    'AdmissionReview.request.object.spec.containers[0].ports[0].containerPort is not an integer',
  ],
  [
    reviewOf(spec({ initContainers: [{ name: 'a', livenessProbe: { httpGet: { port: true } } }] })),
    'AdmissionReview.request.object.spec.initContainers[0].livenessProbe.httpGet.port is not a port number or name',
  ],
  [
    reviewOf({ object: { metadata: { annotations: { a: 1 } }, spec: { containers: [] } } }),
    'AdmissionReview.request.object.metadata.annotations.a is not text',
  ],
  [
    reviewOf({ object: { metadata: { labels: null }, spec: { containers: [] } } }),
    'AdmissionReview.request.object.metadata.labels is not an object',
  ],
])('rejects %j: %s', (body, problem) => {
  expect(parseReview(body)).toEqual({ ok: false, problem });
});

test('parses any body or rejects it with a reason', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (body, object) => {
      for (const each of [body, reviewOf({ object })]) {
        const parsed = parseReview(each);
        expect(parsed.ok || parsed.problem.length > 0).toBe(true);
      }
    }),
  );
});
