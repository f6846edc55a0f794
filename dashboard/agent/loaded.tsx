import type { ComponentChildren } from 'preact';
import type { Resource } from '../api/resource.ts';
import { Button } from '../parts/button.tsx';
import { Failure } from '../parts/failure.tsx';
import { Loading } from '../parts/loading.tsx';

export interface LoadedProps<T> {
  resource: Resource<T>;
  /** A noun, such as "rules". */
  what: string;
  children(data: T): ComponentChildren;
}

/** The data of a resource, or its state. Old data stay while a request fails, with the reason. */
export function Loaded<T>({ resource, what, children }: LoadedProps<T>) {
  const { data, error, reload } = resource;
  if (data === null)
    return error === null ? <Loading what={what} /> : <Failure error={error} retry={reload} />;
  return (
    <>
      {error !== null && (
        <p class="stale" role="status">
          These {what} are not current: {error.detail}. <Button onClick={reload}>Try again</Button>
        </p>
      )}
      {children(data)}
    </>
  );
}
