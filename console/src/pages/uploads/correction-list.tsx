import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, urlOf } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Upload, UploadCorrection } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { Icon } from '../../parts/icons.tsx';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { keepUpload } from './upload-query.ts';
import { isHeld } from './upload-states.ts';

/** What was corrected, by whom and when; while the upload is held, each row can be taken back. */
export function CorrectionList({ upload }: { upload: Upload }) {
  const canCorrect = useCan('upload.control') && isHeld(upload) && !upload.checking;
  const path = { upload_id: upload.upload_id };
  const { data } = useQuery({
    queryKey: ['uploads', 'corrections', upload.upload_id, upload.updated_at],
    queryFn: ({ signal }) => api.get('/api/uploads/{upload_id}/corrections', { path, signal }),
  });
  const { run, isRunning } = useAction<Upload, number>({
    run: (row) => api.delete('/api/uploads/{upload_id}/corrections', { path, query: { row_index: row } }),
    done: () => 'The correction was taken back; the file is read again.',
    touches: ['uploads'],
    afterwards: keepUpload,
  });
  const made = data?.data ?? [];
  if (made.length === 0) return null;
  return (
    <Panel
      title={plural(made.length, 'corrected cell')}
      aside={
        <Button
          component="a"
          variant="default"
          href={urlOf('/api/uploads/{upload_id}/corrections.csv', { path })}
          download
          leftSection={<Icon name="download" size={14} />}
        >
          corrections.csv
        </Button>
      }
    >
      <ul className="notes">
        {made.map((one) => (
          <li key={`${one.row_index} ${one.column}`} className="row">
            <Words one={one} />
            {canCorrect ? (
              <Button
                variant="subtle"
                size="compact-xs"
                loading={isRunning}
                aria-label={`Take back the correction of ${one.column} on line ${one.line ?? one.row_index}`}
                onClick={() => run(one.row_index)}
              >
                Take back
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Words({ one }: { one: UploadCorrection }) {
  return (
    <span>
      {one.line === null ? `Row ${count(one.row_index + 1)}` : `Line ${count(one.line)}`}, {one.column}:{' '}
      <code>{one.old_value === '' ? '(empty)' : one.old_value}</code> → <code>{one.new_value}</code>{' '}
      <span className="dim small">
        by {one.corrected_by} <Ago at={one.corrected_at} />
      </span>
    </span>
  );
}
