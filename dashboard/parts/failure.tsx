import type { ApiError, ApiErrorKind } from '../api/api-error.ts';
import { Button } from './button.tsx';

const TITLES: Readonly<Record<ApiErrorKind, string>> = {
  'wrong-key': 'The admin key is wrong',
  'no-key': 'The admin key is missing',
  disabled: 'The control plane has no admin key',
  'not-found': 'Not found',
  conflict: 'The request conflicts with the current state',
  'not-supported': 'Not available on this control plane',
  invalid: 'The request is not valid',
  'too-many': 'Too many requests',
  offline: 'The control plane is not reachable',
  server: 'The control plane reported an error',
};

/** A request that failed, with the reason that the server gives. */
export function Failure({ error, retry }: { error: ApiError; retry: () => void }) {
  // What a store cannot do is not a failure, and another attempt cannot change it.
  const isFailure = error.kind !== 'not-supported';
  return (
    <div class={isFailure ? 'notice notice-error' : 'notice'} role={isFailure ? 'alert' : 'note'}>
      <p class="notice-title">{TITLES[error.kind]}</p>
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
