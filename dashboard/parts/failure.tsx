import type { ApiError, ApiErrorKind } from '../api/api-error.ts';
import { Button } from './button.tsx';

const TITLES: Readonly<Record<ApiErrorKind, string>> = {
  'wrong-key': 'The key is wrong',
  'no-key': 'You are not signed in',
  forbidden: 'You may not do this',
  disabled: 'The control plane has no admin key',
  'not-found': 'Not found',
  conflict: 'The request conflicts with the current state',
  'not-supported': 'Not available on this control plane',
  invalid: 'The request is not valid',
  'too-many': 'Too many requests',
  offline: 'The control plane is not reachable',
  server: 'The control plane reported an error',
};

export interface FailureProps {
  error: ApiError;
  retry: () => void;
  /** The namespace that the request changes. */
  namespace?: string | undefined;
}

/** A request that failed, with the reason that the server gives. */
export function Failure({ error, retry, namespace }: FailureProps) {
  // What a store cannot do is not a failure, and another attempt cannot change it.
  const isFailure = error.kind !== 'not-supported';
  return (
    <div class={isFailure ? 'notice notice-error' : 'notice'} role={isFailure ? 'alert' : 'note'}>
      <p class="notice-title">
        {TITLES[error.kind]}
        {error.kind === 'forbidden' && namespace !== undefined && ` in namespace ${namespace}`}
      </p>
      <p class="sentence">{error.detail}.</p>
      {error.errors.length > 0 && (
        <ul>
          {error.errors.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {isFailure && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}
