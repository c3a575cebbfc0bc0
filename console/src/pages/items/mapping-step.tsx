import { Button, Checkbox, Skeleton, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { kindOfFiles } from './chosen-files.ts';
import { type ColumnMapping, mappingProblem } from './column-mapping.ts';
import { cellText } from './exact-json.ts';
import {
  type FilePreview,
  largestPreviewBytes,
  previewFile,
  type TriedRow,
  tryRows,
} from './file-preview.ts';
import { NoteList } from './note-list.tsx';
import type { NewItems } from './send-items.ts';

/** The preview of a chosen file of rows; null until there is one, and for files that are too large for it. */
function usePreview(file: File | undefined, { isRows, sheet }: { isRows: boolean; sheet: string }) {
  const isShown = isRows && file !== undefined && file.size <= largestPreviewBytes;
  return useQuery({
    queryKey: ['preview', file?.name, file?.size, file?.lastModified, sheet],
    queryFn: ({ signal }) =>
      previewFile(
        { files: file ? [file] : [], processor: 'noop', options: '{}', sheet, mapping: null },
        signal,
      ),
    enabled: isShown,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The mapping of the chosen file, and its columns: as the server reads them, or as far as the browser could. */
export function useMapping(
  files: readonly File[],
  { sheet, columns }: { sheet: string; columns: readonly string[] },
) {
  const [mapping, setMapping] = useState<ColumnMapping>({});
  const preview = usePreview(files[0], { isRows: kindOfFiles(files) === 'rows', sheet });
  return { mapping, setMapping, preview, fileColumns: preview.data?.fileColumns ?? columns };
}

interface MappingProps {
  mapping: ColumnMapping;
  onChange: (mapping: ColumnMapping) => void;
}

/** Nothing without a file of rows; then what it holds, or why it cannot be read. */
export function PreviewPart({
  preview,
  ...mapping
}: MappingProps & { preview: ReturnType<typeof usePreview> }) {
  if (preview.data !== undefined) return <MappingStep preview={preview.data} {...mapping} />;
  if (preview.error !== null) return <Problem error={preview.error} />;
  return preview.isLoading ? <Skeleton height={120} /> : null;
}

interface MappingStepProps extends MappingProps {
  preview: FilePreview;
}

/** What the file holds, and which of its columns the job gets under which name. */
function MappingStep({ preview, mapping, onChange }: MappingStepProps) {
  const problem = mappingProblem(preview.fileColumns ?? [], mapping);
  return (
    <Panel title="Columns" aside={<span className="dim small">{summaryOf(preview)}</span>}>
      <div className="stack">
        <NoteList notes={preview.notes} />
        {preview.fileColumns === null ? null : (
          <ColumnTable preview={preview} mapping={mapping} onChange={onChange} />
        )}
        {problem === null ? null : (
          <p role="alert" data-tone="failed">
            <span className="toned">{problem}</span>
          </p>
        )}
        <details>
          <summary>First {plural(preview.rows.length, 'row')}</summary>
          <RowTable columns={preview.columns.map(({ name }) => name)} rows={preview.rows} />
        </details>
      </div>
    </Panel>
  );
}

function summaryOf({ rowCount, format, encoding, sheet }: FilePreview): string {
  const kind = [format.toUpperCase(), encoding, sheet === null ? null : `sheet ${sheet}`].filter(Boolean);
  return `${plural(rowCount, 'row')} · ${kind.join(' · ')}`;
}

function ColumnTable({ preview, mapping, onChange }: MappingStepProps) {
  return (
    <table className="map-table">
      <thead>
        <tr>
          <th scope="col">Take</th>
          <th scope="col">In the file</th>
          <th scope="col">In the job</th>
          <th scope="col">Type</th>
          <th scope="col">Values</th>
        </tr>
      </thead>
      <tbody>
        {preview.columns.map(({ name, type, samples }) => {
          const to = Object.hasOwn(mapping, name) ? (mapping[name] ?? null) : name;
          return (
            <tr key={name}>
              <td>
                <Checkbox
                  aria-label={`Take ${name}`}
                  checked={to !== null}
                  onChange={(event) =>
                    onChange({ ...mapping, [name]: event.currentTarget.checked ? name : null })
                  }
                />
              </td>
              <th scope="row">{name}</th>
              <td>
                <TextInput
                  aria-label={`Name of ${name} in the job`}
                  value={to ?? ''}
                  disabled={to === null}
                  onChange={(event) => onChange({ ...mapping, [name]: event.currentTarget.value })}
                />
              </td>
              <td className="dim">{type}</td>
              <td className="map-samples">{samples.join(' · ')}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function RowTable({
  columns,
  rows,
}: {
  columns: readonly string[];
  rows: readonly Record<string, unknown>[];
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
    <section className="map-rows" tabIndex={0} aria-label="First rows">
      <table className="map-table">
        <thead>
          <tr>
            {columns.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows of a file have no other key, and never move.
            <tr key={at}>
              {columns.map((name) => (
                <td key={name}>
                  {row[name] === null ? <span className="dim">null</span> : cellText(row[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Runs the first rows for real, before the job is made. */
export function TryRows({ items, isIncomplete }: { items: NewItems; isIncomplete: boolean }) {
  const [tried, setTried] = useState<TriedRow[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isTrying, setTrying] = useState(false);
  const run = async () => {
    setTrying(true);
    setError(null);
    try {
      setTried((await tryRows(items, AbortSignal.timeout(60_000))).data);
    } catch (problem) {
      setError(problem);
    } finally {
      setTrying(false);
    }
  };
  return (
    <Panel
      title="Try it first"
      aside={
        <Button variant="default" loading={isTrying} disabled={isIncomplete} onClick={() => void run()}>
          Try on 5 rows
        </Button>
      }
    >
      {error === null ? null : <Problem error={error} />}
      {tried === null ? (
        <p className="dim">The first five rows run through the processor for real. No job is made.</p>
      ) : (
        <ul className="tried">
          {tried.map((row) => (
            <li key={row.rowNo}>
              <span className="dim">Row {count(row.rowNo)}</span>
              <StatusChip status={row.status} />
              <span className="tried-text">{row.lastError ?? JSON.stringify(row.result)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
