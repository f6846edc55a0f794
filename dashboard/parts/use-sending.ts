import { useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';

/** A request that the reader starts, such as by a button. Its element is gone after a success. `error`: of the last attempt. */
export function useSending(work: () => Promise<void>) {
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
