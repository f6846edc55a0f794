import { KubeError } from './client.ts';

/** One line of a watch. */
export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

interface Status {
  code?: number;
  reason?: string;
  message?: string;
}

/** Converts the object of an ERROR event, a Status, to a KubeError. */
export function errorOf(object: unknown): KubeError {
  const { code = 500, reason = '', message = 'the watch ended with an error' } = object as Status;
  return new KubeError({ status: code, reason, message, retryAfterMs: null });
}
