import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useGo } from '../../parts/to.tsx';
import { type NewItems, sendItems } from './send-items.ts';

interface Sending {
  /** Null while nothing is being sent. */
  sentBytes: number | null;
  error: unknown;
  send: (items: NewItems) => Promise<void>;
  stop: () => void;
}

/** Uploads files and opens their job. A second try with the same files creates no second job. */
export function useSending(): Sending {
  const go = useGo();
  const client = useQueryClient();
  const [sentBytes, setSent] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const abort = useRef<AbortController | null>(null);
  const last = useRef<{ items: NewItems; key: string } | null>(null);
  const keyOf = (items: NewItems) => {
    const before = last.current;
    const isSame =
      before !== null &&
      before.items.files === items.files &&
      before.items.processor === items.processor &&
      before.items.options === items.options &&
      before.items.sheet === items.sheet &&
      before.items.mapping === items.mapping;
    last.current = { items, key: isSame ? before.key : crypto.randomUUID() };
    return last.current.key;
  };
  const send = async (items: NewItems) => {
    abort.current = new AbortController();
    setError(null);
    setSent(0);
    try {
      const sending = { onProgress: setSent, signal: abort.current.signal, idempotencyKey: keyOf(items) };
      const { jobId } = await sendItems(items, sending);
      void client.invalidateQueries({ queryKey: ['items'] });
      go(`/items/${jobId}`);
    } catch (problem) {
      if (!(problem instanceof DOMException && problem.name === 'AbortError')) setError(problem);
    } finally {
      setSent(null);
    }
  };
  return { sentBytes, error, send, stop: () => abort.current?.abort() };
}
