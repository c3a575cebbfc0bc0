import { Button, Group, Modal, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiProblem } from '../api/client.ts';
import type { Area } from '../api/live-areas.ts';
import { notifyDone } from './notify.ts';
import { Problem } from './problem.tsx';

interface FormDialogProps<Result> {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  /** The word on the button: the action itself. */
  action: string;
  isReady?: boolean;
  send: () => Promise<Result>;
  /** What did happen; null when the dialog goes on to show it itself. */
  done: (result: Result) => string | null;
  touches: readonly Area[];
  afterwards?: (result: Result) => void;
  children: (error: unknown) => ReactNode;
}

/** A form over the page. What the server has against it stays in the form, beside the field that it is about. */
export function FormDialog<Result>(props: FormDialogProps<Result>) {
  const { title, isOpen, onClose, action, isReady = true, children } = props;
  const { error, isSending, submit } = useSending(props);
  return (
    <Modal opened={isOpen} onClose={onClose} title={title}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          {children(error)}
          {error === null ? null : <Problem error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" loading={isSending} disabled={!isReady}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function useSending<Result>({ send, done, touches, afterwards, onClose }: FormDialogProps<Result>) {
  const client = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [isSending, setSending] = useState(false);
  const run = async () => {
    setSending(true);
    try {
      const result = await send();
      const sentence = done(result);
      if (sentence !== null) {
        notifyDone(sentence);
        onClose();
      }
      setError(null);
      afterwards?.(result);
      await Promise.all(touches.map((area) => client.invalidateQueries({ queryKey: [area] })));
    } catch (problem) {
      setError(problem);
    } finally {
      setSending(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  return { error, isSending, submit };
}

/** What the server said of one field of the body. */
export function messageAt(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  return error.errors.find(({ pointer }) => pointer.endsWith(`/${field}`))?.message;
}
