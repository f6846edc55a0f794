import { useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';

export interface Sending {
  /** Why the last attempt failed. */
  error: ApiError | null;
  isSending: boolean;
  send(): void;
}

/** A request that the reader starts, such as by a button. Its element is gone after a success. */
export function useSending(work: () => Promise<void>): Sending {
  const [error, setError] = useState<ApiError | null>(null);
  const [isSending, setSending] = useState(false);
  const send = async (): Promise<void> => {
    setSending(true);
    try {
      await work();
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      setError(failure);
      setSending(false);
    }
  };
  return { error, isSending, send: () => void send() };
}
