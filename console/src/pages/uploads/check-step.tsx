import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { queryClient } from '../../api/queries.ts';
import type { Upload, UploadPreview } from '../../api/types.ts';
import { CountSum } from '../../parts/counts.tsx';
import { Panel } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { CorrectRows } from './correct-rows.tsx';
import { CorrectionList } from './correction-list.tsx';
import { PreviewTable } from './preview-table.tsx';
import { ProblemGroups } from './problem-groups.tsx';
import { PromotePanel } from './promote-panel.tsx';
import { ReconciliationLine } from './reconciliation-line.tsx';
import { uploadQuery } from './upload-query.ts';
import { isHeld } from './upload-states.ts';
import { UploadWarnings } from './upload-warnings.tsx';

/** What promotion would do, before it is done. */
export function CheckStep({ upload, onColumns }: { upload: Upload; onColumns: () => void }) {
  const preview = useQuery({
    queryKey: ['uploads', 'preview', upload.upload_id, upload.updated_at],
    queryFn: ({ signal }) => askPreview(upload.upload_id, signal),
  });
  const found = preview.data ?? undefined;
  return (
    <div className="check-step">
      <div className="stack">
        <Panel title="What the file contains">
          <CountSum
            total={upload.total_rows}
            noun="rows"
            parts={[
              { label: 'valid', value: upload.valid_rows, tone: 'done' },
              { label: 'rejected', value: upload.invalid_rows, tone: 'failed' },
            ]}
          />
          <Breakdown upload={upload} />
          <ReconciliationLine upload={upload} />
        </Panel>
        <Panel title="What promotion would do">
          {preview.error === null ? null : (
            <Problem
              error={preview.error}
              retry={() => void preview.refetch()}
              isStale={found !== undefined}
            />
          )}
          <PreviewTable preview={found} isLoading={preview.isPending} />
        </Panel>
        <ProblemGroups upload={upload} onColumns={onColumns} />
        <CorrectRows upload={upload} />
        <CorrectionList upload={upload} />
        <UploadWarnings upload={upload} />
      </div>
      <PromotePanel upload={upload} preview={found} />
    </div>
  );
}

/** The columns that tell lines of one day apart, and the range of a report without days. */
function Breakdown({ upload: { layout } }: { upload: Upload }) {
  const dimensions = layout?.dimensions ?? [];
  const range = layout?.range ?? null;
  if (dimensions.length === 0 && range === null) return null;
  return (
    <p className="dim">
      {range === null
        ? null
        : `The report has no days: its figures are those of ${range.from} to ${range.to}. `}
      {dimensions.length === 0
        ? null
        : `Broken down by ${dimensions.join(', ')}: lines are added up, and each is kept as a breakdown.`}
    </p>
  );
}

/**
 * Events reload everything at once. There is no preview any more after a colleague has decided, so the record is
 * loaded first; null: this page is about to show another step.
 */
async function askPreview(uploadId: string, signal: AbortSignal): Promise<UploadPreview | null> {
  const fresh = await queryClient.fetchQuery({ ...uploadQuery(uploadId), staleTime: 0 });
  if (!isHeld(fresh) || fresh.checking) return null;
  return api.get('/api/uploads/{upload_id}/preview', { path: { upload_id: uploadId }, signal });
}
