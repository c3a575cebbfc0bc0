import { Button, Group, Modal, Text } from '@mantine/core';
import { type ReactNode, useSyncExternalStore } from 'react';

interface Question {
  /** The action as a question: "Cancel 3 jobs?" */
  title: string;
  /** What will happen and what cannot be undone. */
  consequence: ReactNode;
  /** The word on the button: the action itself, never "OK". */
  action: string;
  isDanger?: boolean;
}

interface Asked extends Question {
  answer: (yes: boolean) => void;
}

let asked: Asked | null = null;
const listeners = new Set<() => void>();

/** Asks once, by naming the consequence; true when the person wants it. */
export function confirm(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    asked?.answer(false);
    become({ ...question, answer: resolve });
  });
}

/** Rendered once at the root of the page. */
export function ConfirmHost() {
  const question = useSyncExternalStore(subscribe, () => asked);
  const close = (yes: boolean) => {
    question?.answer(yes);
    become(null);
  };
  return (
    <Modal opened={question !== null} onClose={() => close(false)} title={question?.title ?? ''} size="sm">
      <Text component="div">{question?.consequence}</Text>
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={() => close(false)}>
          Keep it
        </Button>
        <Button color={question?.isDanger ? 'red' : 'teal'} onClick={() => close(true)} data-autofocus>
          {question?.action}
        </Button>
      </Group>
    </Modal>
  );
}

function become(next: Asked | null): void {
  asked = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
