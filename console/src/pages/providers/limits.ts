import type { Provider } from '../../api/types.ts';

/** The limits as they stand in the form; an empty text is no limit. */
export interface LimitsDraft {
  rate_per_second: string;
  concurrency: string;
  daily_budget: string;
  timeout_ms: string;
  cost_per_call: string;
}

export const limitFields: { name: keyof LimitsDraft; label: string; description: string }[] = [
  { name: 'rate_per_second', label: 'Calls per second', description: 'Of all processes together' },
  { name: 'concurrency', label: 'Calls at once', description: 'Of all processes together' },
  {
    name: 'daily_budget',
    label: 'Budget per day',
    description: 'Cost of the calls of a day (UTC); then rows wait for the next day',
  },
  { name: 'cost_per_call', label: 'Cost of a call', description: 'Where the answer does not tell; else 1' },
  { name: 'timeout_ms', label: 'Time limit of a call (ms)', description: '100 to 120,000' },
];

export function draftOf(provider: Provider | undefined): LimitsDraft {
  const textOf = (name: keyof LimitsDraft) => String(provider?.[name] ?? '');
  return {
    rate_per_second: textOf('rate_per_second'),
    concurrency: textOf('concurrency'),
    daily_budget: textOf('daily_budget'),
    timeout_ms: textOf('timeout_ms'),
    cost_per_call: textOf('cost_per_call'),
  };
}

/** What is sent: null takes a limit away. */
export function limitsOf(draft: LimitsDraft): Record<keyof LimitsDraft, number | null> {
  const numberOf = (name: keyof LimitsDraft) => (draft[name].trim() === '' ? null : Number(draft[name]));
  return {
    rate_per_second: numberOf('rate_per_second'),
    concurrency: numberOf('concurrency'),
    daily_budget: numberOf('daily_budget'),
    timeout_ms: numberOf('timeout_ms'),
    cost_per_call: numberOf('cost_per_call'),
  };
}

/** Null when every field is a number or empty. */
export function draftProblem(draft: LimitsDraft): keyof LimitsDraft | null {
  const wrong = limitFields.find(({ name }) => Number.isNaN(Number(draft[name])));
  return wrong?.name ?? null;
}

const waits: Record<string, string> = {
  provider_pause: 'it asked for a pause',
  provider_down: 'its calls fail',
  budget: 'the budget of the day is used up',
};

/** Whether calls are made, in words. */
export function stateOf({ waiting_for, breaker }: Pick<Provider, 'waiting_for' | 'breaker'>): string {
  if (waiting_for !== null) return `waits: ${waits[waiting_for] ?? waiting_for}`;
  return breaker === 'open' ? 'one call at a time: its calls fail' : 'ready';
}
