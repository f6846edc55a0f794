/** The definitions of reports, in version 0.2.1 of the OpenReports API: the members that a report may have, and their types. */
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});
const string = { type: 'string' };
const integer = { type: 'integer' };
const words = (...values: readonly string[]) => ({ type: 'string', enum: values });
const selector = object({
  matchExpressions: {
    type: 'array',
    items: object({ key: string, operator: string, values: { type: 'array', items: string } }, [
      'key',
      'operator',
    ]),
  },
  matchLabels: { type: 'object', additionalProperties: string },
});
const reference = object({
  ...{ apiVersion: string, fieldPath: string, kind: string, name: string, namespace: string },
  ...{ resourceVersion: string, uid: string },
});
const result = object(
  {
    ...{ category: string, message: string, policy: string, rule: string, source: string },
    properties: { type: 'object', additionalProperties: string },
    resourceSelector: selector,
    resources: { type: 'array', items: reference },
    result: words('pass', 'fail', 'warn', 'error', 'skip'),
    scored: { type: 'boolean' },
    severity: words('critical', 'high', 'low', 'medium', 'info'),
    timestamp: object({ nanos: { ...integer, format: 'int32' }, seconds: { ...integer, format: 'int64' } }, [
      'nanos',
      'seconds',
    ]),
  },
  ['policy'],
);

/** The definition of `Report`, or of `PolicyReport`, which has no source of its own. */
export function reportDefinition(kind: 'Report' | 'PolicyReport') {
  const [group, version] =
    kind === 'Report' ? ['openreports.io', 'v1alpha1'] : ['wgpolicyk8s.io', 'v1alpha2'];
  const plural = `${kind.toLowerCase()}s`;
  const schema = object({
    ...{ apiVersion: string, kind: string, metadata: { type: 'object' } },
    ...(kind === 'Report' && { source: string }),
    ...{ scope: reference, scopeSelector: selector, results: { type: 'array', items: result } },
    summary: object({ error: integer, fail: integer, pass: integer, skip: integer, warn: integer }),
  });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' },
    },
    spec: {
      ...{
        group,
        scope: 'Namespaced',
        names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}
