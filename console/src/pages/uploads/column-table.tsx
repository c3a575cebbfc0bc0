import { Button, Select } from '@mantine/core';
import type { ColumnChoice, Mapping } from './column-choices.ts';
import { fieldGroups, fieldTitle, isReportField, type ReportField } from './report-fields.ts';

interface ColumnTableProps {
  choices: readonly ColumnChoice[];
  /** Undefined: as the name says. */
  choose: (header: string, field: Mapping[string] | undefined) => void;
  forget: ((header: string) => void) | undefined;
  isDisabled: boolean;
}

/** One line per column of the file: its name, some of its values, and what it is taken for. */
export function ColumnTable({ choices, ...props }: ColumnTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <div className="column-table" tabIndex={0}>
      <table aria-label="Columns of the file">
        <thead>
          <tr>
            <th scope="col">Column in the file</th>
            <th scope="col">Some of its values</th>
            <th scope="col">Is read as</th>
            <th scope="col">Because</th>
          </tr>
        </thead>
        <tbody>
          {choices.map((choice) => (
            <ColumnLine key={choice.header} choice={choice} {...props} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ColumnLine({
  choice,
  choose,
  forget,
  isDisabled,
}: { choice: ColumnChoice } & Omit<ColumnTableProps, 'choices'>) {
  const { header, samples, field } = choice;
  return (
    <tr data-unused={field === null || undefined}>
      <th scope="row" title={header}>
        {header}
      </th>
      <td className="samples" title={samples.join(' · ')}>
        {samples.length === 0 ? <span className="dim">empty</span> : samples.join(' · ')}
      </td>
      <td>
        <Select
          aria-label={`${header} is read as`}
          size="xs"
          w={200}
          data={options}
          value={field ?? leftOut}
          disabled={isDisabled}
          searchable
          onChange={(value) => choose(header, isReportField(value) ? value : null)}
        />
      </td>
      <td className="because small">
        <Because choice={choice} choose={choose} forget={forget} isDisabled={isDisabled} />
      </td>
    </tr>
  );
}

const leftOut = 'left_out';

const options = [
  { value: leftOut, label: 'Not read' },
  ...fieldGroups.map(({ group, fields }) => ({
    group,
    items: Object.entries(fields).map(([value, label]) => ({ value, label })),
  })),
];

function Because({
  choice,
  choose,
  forget,
  isDisabled,
}: { choice: ColumnChoice } & Omit<ColumnTableProps, 'choices'>) {
  const { header, by, field, isRemembered, suggestion, givenBy } = choice;
  if (givenBy !== null && field !== null) {
    return (
      <span className="toned" data-tone="retry">
        “{givenBy}” already gives {fieldTitle(field)}: this one is left out
      </span>
    );
  }
  if (by === 'choice') {
    return (
      <span className="row">
        {isRemembered ? 'Remembered from before' : 'Your choice'}
        {isRemembered && forget !== undefined ? (
          <Quiet onClick={() => forget(header)} label={`Forget ${header}`} word="Forget" />
        ) : null}
        {!isRemembered && !isDisabled ? (
          <Quiet
            onClick={() => choose(header, undefined)}
            label={`Decide ${header} by its name`}
            word="By its name"
          />
        ) : null}
      </span>
    );
  }
  if (by === 'name') return <span className="dim">Its name is known</span>;
  if (suggestion === null) return <span className="dim">Its name is not known</span>;
  return (
    <span className="row">
      Perhaps {fieldTitle(suggestion)}?
      {isDisabled ? null : (
        <Quiet
          onClick={() => choose(header, suggestion as ReportField)}
          label={`Apply: read ${header} as ${fieldTitle(suggestion)}`}
          word="Apply"
        />
      )}
    </span>
  );
}

function Quiet({ onClick, label, word }: { onClick: () => void; label: string; word: string }) {
  return (
    <Button variant="subtle" size="compact-xs" aria-label={label} onClick={onClick}>
      {word}
    </Button>
  );
}
