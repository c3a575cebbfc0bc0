import { TextInput } from '@mantine/core';

/** Days as a date field gives them; empty while nothing is chosen. */
export interface DayRange {
  from: string;
  to: string;
}

export const noRange: DayRange = { from: '', to: '' };

export const isWholeRange = ({ from, to }: DayRange) => from !== '' && to !== '' && from <= to;

interface RangeFieldsProps {
  range: DayRange;
  onChange: (range: DayRange) => void;
  isDisabled?: boolean;
}

/** The first and the last day of a range, both included. */
export function RangeFields({ range, onChange, isDisabled = false }: RangeFieldsProps) {
  const { from, to } = range;
  const isReversed = from !== '' && to !== '' && from > to;
  return (
    <div className="row">
      <TextInput
        type="date"
        label="First day"
        value={from}
        disabled={isDisabled}
        onChange={(event) => onChange({ from: event.currentTarget.value, to })}
      />
      <TextInput
        type="date"
        label="Last day"
        value={to}
        disabled={isDisabled}
        error={isReversed ? 'It is before the first day' : undefined}
        onChange={(event) => onChange({ from, to: event.currentTarget.value })}
      />
    </div>
  );
}
