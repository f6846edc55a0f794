import type { KubeClient } from './client.ts';
import { expectOk } from './objects.ts';

/** Whether a user may do something. The resource need not exist: RBAC compares only names. */
export interface AccessQuestion {
  user: string;
  groups: readonly string[];
  verb: string;
  group: string;
  resource: string;
  subresource?: string;
  /** Absent: in every namespace. */
  namespace?: string;
}

interface AccessReview {
  status?: { allowed?: boolean };
}

const PATH = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

/** Sends a SubjectAccessReview. Throws a KubeError if the API server gives no result. */
export async function reviewAccess(
  client: KubeClient,
  { user, groups, ...resourceAttributes }: AccessQuestion,
): Promise<boolean> {
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups, resourceAttributes },
  };
  const response = await client.send<AccessReview>({ method: 'POST', path: PATH, body, timeoutMs: 5_000 });
  return expectOk(response).status?.allowed === true;
}
