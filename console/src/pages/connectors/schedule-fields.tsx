import { NumberInput, SegmentedControl, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ApiProblem, api } from '../../api/client.ts';
import { messageAt } from '../../parts/form-dialog.tsx';
import { plural } from '../../parts/number.ts';

export interface ScheduleDraft {
  cadenceHours: number | null;
  /** Null: by cadence. */
  cron: string | null;
  timeZone: string;
}

interface Props {
  draft: ScheduleDraft;
  change: (changes: Partial<ScheduleDraft>) => void;
  error: unknown;
}

/** A cadence, or a cron expression with its time zone, and the syncs that follow from it. */
export function ScheduleFields({ draft, change, error }: Props) {
  const isCron = draft.cron !== null;
  return (
    <>
      <SegmentedControl
        aria-label="Schedule"
        data={[
          { value: 'cadence', label: 'Every few hours' },
          { value: 'cron', label: 'At set times' },
        ]}
        value={isCron ? 'cron' : 'cadence'}
        onChange={(value) =>
          change(value === 'cron' ? { cron: '0 6 * * *', cadenceHours: null } : { cron: null })
        }
      />
      {isCron ? (
        <>
          <TextInput
            label="Cron expression"
            description="Minute, hour, day of month, month, day of week: 0 6 * * 1-5 is 6:00 on weekdays."
            required
            value={draft.cron ?? ''}
            error={messageAt(error, 'cron')}
            onChange={(event) => change({ cron: event.currentTarget.value })}
          />
          <TextInput
            label="Time zone"
            required
            value={draft.timeZone}
            error={messageAt(error, 'time_zone')}
            onChange={(event) => change({ timeZone: event.currentTarget.value })}
          />
        </>
      ) : (
        <NumberInput
          label="Cadence in hours"
          description="Empty: as often as the plan allows."
          min={0}
          decimalScale={2}
          value={draft.cadenceHours ?? ''}
          error={messageAt(error, 'cadence_hours')}
          onChange={(value) => change({ cadenceHours: typeof value === 'number' ? value : null })}
        />
      )}
      <Preview draft={draft} />
    </>
  );
}

/** The next five syncs, or why the schedule would be refused. */
function Preview({ draft }: { draft: ScheduleDraft }) {
  const [settled] = useDebouncedValue(draft, 300);
  const { data, error } = useQuery({
    queryKey: ['connectors', 'preview', scheduleOf(settled)],
    queryFn: ({ signal }) => api.post('/api/connectors/preview', { body: scheduleOf(settled), signal }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (error instanceof ApiProblem) return <p className="small">{error.message}</p>;
  if (data === undefined) return null;
  const zone = settled.cron === null ? browserZone() : settled.timeZone;
  return (
    <div className="small">
      <span className="dim">Next syncs ({zone}):</span>
      <ol className="plain">
        {data.next_runs.map((run) => (
          <li key={run}>{inZone(run, zone)}</li>
        ))}
      </ol>
      <span className="dim">
        Each starts up to {minutes(data.jitter_seconds)} later, so that connectors do not start all at once.
      </span>
    </div>
  );
}

function minutes(seconds: number): string {
  return seconds < 120 ? plural(Math.round(seconds), 'second') : plural(Math.round(seconds / 60), 'minute');
}

function inZone(moment: string, timeZone: string): string {
  const format = {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  } as const;
  return new Intl.DateTimeFormat('en-GB', { ...format, timeZone }).format(new Date(moment));
}

export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** As the API wants it. */
export function scheduleOf({ cadenceHours, cron, timeZone }: ScheduleDraft) {
  return cron === null
    ? { cadence_hours: cadenceHours, cron: null }
    : { cadence_hours: null, cron: cron.trim(), time_zone: timeZone.trim() };
}
