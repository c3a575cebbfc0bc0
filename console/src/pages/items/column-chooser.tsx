import { Button, Checkbox, Popover } from '@mantine/core';
import { Icon } from '../../parts/icons.tsx';
import { allColumns, type GridColumn, writeColumns } from './grid-columns.ts';
import type { ItemJob } from './item-job.ts';

interface ColumnChooserProps {
  job: ItemJob;
  shown: readonly GridColumn[];
  /** Undefined restores the default. */
  onChange: (columns: string | undefined) => void;
}

const groups = [
  { from: 'row', label: 'Row' },
  { from: 'result', label: 'Result' },
  { from: 'input', label: 'Original file' },
] as const;

/** The columns of the grid; the choice is in the URL, so a colleague sees the same. */
export function ColumnChooser({ job, shown, onChange }: ColumnChooserProps) {
  const all = allColumns(job);
  const ids = new Set(shown.map(({ id }) => id));
  const toggle = (id: string) => {
    const next = all.filter((column) => (column.id === id ? !ids.has(id) : ids.has(column.id)));
    onChange(writeColumns(next.map((column) => column.id)));
  };
  return (
    <Popover position="bottom-end" width={280} withArrow trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="columns" size={13} />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <div className="column-list">
          {groups.map(({ from, label }) => (
            <Checkbox.Group key={from} label={label} value={[...ids]}>
              <div className="stack">
                {all
                  .filter((column) => column.from === from)
                  .map(({ id, header }) => (
                    <Checkbox key={id} size="xs" value={id} label={header} onChange={() => toggle(id)} />
                  ))}
              </div>
            </Checkbox.Group>
          ))}
          <Button variant="subtle" onClick={() => onChange(undefined)}>
            Reset columns
          </Button>
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}
