import { Button, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { StagedRow, Upload } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { badCells, type Drafts, rowsToSend } from './corrections.ts';
import { keepUpload } from './upload-query.ts';

const rowsShown = 50;

/** Refused rows whose cells can be corrected in place. The file is then read again with them. */
export function CorrectRows({ upload }: { upload: Upload }) {
  const canCorrect = useCan('upload.control');
  const [drafts, setDrafts] = useState<Drafts>({});
  const query = useQuery({
    queryKey: ['uploads', 'refused-rows', upload.upload_id, upload.updated_at],
    queryFn: ({ signal }) =>
      api.get('/api/uploads/{upload_id}/rows', {
        path: { upload_id: upload.upload_id },
        query: { validation_status: 'invalid', limit: rowsShown },
        signal,
      }),
    enabled: canCorrect && upload.invalid_rows > 0 && !upload.checking,
  });
  const { run, isRunning } = useAction<Upload, Drafts>({
    run: (made) =>
      api.post('/api/uploads/{upload_id}/corrections', {
        path: { upload_id: upload.upload_id },
        body: { rows: rowsToSend(made) },
      }),
    done: (_, made) => `${plural(rowsToSend(made).length, 'row')} corrected; the file is read again.`,
    touches: ['uploads'],
    afterwards: (fresh) => {
      setDrafts({});
      keepUpload(fresh);
    },
  });
  const rows = (query.data?.data ?? []).filter((row) => badCells(row, upload).length > 0);
  if (!canCorrect || upload.invalid_rows === 0 || (query.data !== undefined && rows.length === 0))
    return null;
  const changed = rowsToSend(drafts).length;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (changed > 0) run(drafts);
  };
  return (
    <Panel
      title="Correct rejected rows here"
      aside={query.data?.has_more ? <span className="dim small">the first {rowsShown}</span> : undefined}
    >
      {query.error === null ? null : <Problem error={query.error} retry={() => void query.refetch()} />}
      <form className="stack" onSubmit={submit}>
        <p className="dim">
          The file stays as it is. What you write is read instead, and kept with your name.
        </p>
        <ul className="correct-rows">
          {rows.map((row) => (
            <CorrectableRow
              key={row.row_index}
              row={row}
              upload={upload}
              drafts={drafts}
              change={(column, value) =>
                setDrafts((before) => ({
                  ...before,
                  [row.row_index]: { ...before[row.row_index], [column]: value },
                }))
              }
            />
          ))}
        </ul>
        <div className="row">
          <Button type="submit" loading={isRunning} disabled={changed === 0}>
            {changed === 0 ? 'Save corrections' : `Save ${plural(changed, 'corrected row')}`}
          </Button>
        </div>
      </form>
    </Panel>
  );
}

interface RowProps {
  row: StagedRow;
  upload: Upload;
  drafts: Drafts;
  change: (column: string, value: string) => void;
}

function CorrectableRow({ row, upload, drafts, change }: RowProps) {
  const place = row.line === null ? `row ${count(row.row_index + 1)}` : `line ${count(row.line)}`;
  return (
    <li className="correct-row">
      <b className="num">{place}</b>
      {badCells(row, upload).map(({ column, value, message }) => (
        <TextInput
          key={column}
          size="xs"
          label={column}
          aria-label={`${column} of ${place}`}
          description={message}
          value={drafts[row.row_index]?.[column] ?? value}
          onChange={(event) => change(column, event.currentTarget.value)}
        />
      ))}
    </li>
  );
}
