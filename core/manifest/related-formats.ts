/** Manifest formats that `platform migrate` converts, by apiVersion, with their name for messages. */
export const RELATED_FORMATS: ReadonlyMap<string, string> = new Map([
  ['platform.io/v1alpha1', 'an older manifest version'],
  ['agentspec.io/v1', 'an agentspec manifest'],
  ['agentspec/v1alpha1', 'an agentspec manifest'],
]);
