import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Area } from '../api/live-areas.ts';
import { notifyDone, notifyProblem } from './notify.ts';

interface ActionOptions<Input, Result> {
  run: (input: Input) => Promise<Result>;
  /** What did happen, with its number; null says nothing. */
  done: (result: Result, input: Input) => string | null;
  /** What is out of date afterwards. */
  touches: readonly Area[];
  /** After it has worked, such as going to what was made. */
  afterwards?: (result: Result, input: Input) => void;
}

/** An action of a person: runs it, reports the result, and reloads what it changed. */
export function useAction<Result, Input = void>(options: ActionOptions<Input, Result>) {
  const client = useQueryClient();
  const { mutate, mutateAsync, isPending } = useMutation<Result, Error, Input>({
    mutationFn: options.run,
    onSuccess: (result, input) => {
      const sentence = options.done(result, input);
      if (sentence !== null) notifyDone(sentence);
      options.afterwards?.(result, input);
    },
    onError: notifyProblem,
    onSettled: () =>
      Promise.all(options.touches.map((area) => client.invalidateQueries({ queryKey: [area] }))),
  });
  return { run: mutate, runAsync: mutateAsync, isRunning: isPending };
}
