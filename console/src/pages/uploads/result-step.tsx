import { Link } from '@tanstack/react-router';
import type { Upload } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { CountSum } from '../../parts/counts.tsx';
import { Icon } from '../../parts/icons.tsx';
import { count, plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { CorrectedLink } from './corrected-link.tsx';
import { CorrectionList } from './correction-list.tsx';
import { FileLine } from './file-line.tsx';
import { type Entity, entities, entityTitles, SameKeyNote } from './preview-table.tsx';
import { ProblemGroups } from './problem-groups.tsx';
import { PromotedRows } from './promoted-rows.tsx';
import { ReconciliationLine } from './reconciliation-line.tsx';
import { rejectedRows } from './rejected-rows.ts';
import { type DataTab, uploadSearch } from './search.ts';
import { UndoPanel } from './undo-panel.tsx';
import { UploadWarnings } from './upload-warnings.tsx';

/** The outcome; the numbers add up to the rows of the file. */
export function ResultStep({ upload }: { upload: Upload }) {
  const hasData = upload.status !== 'failed';
  return (
    <div className="stack">
      <FileLine upload={upload} />
      {upload.status === 'failed' ? <Failure upload={upload} /> : <Figures upload={upload} />}
      {hasData ? <UndoPanel upload={upload} /> : null}
      <ProblemGroups upload={upload} />
      <CorrectionList upload={upload} />
      <UploadWarnings upload={upload} />
      {hasData ? <PromotedRows upload={upload} /> : null}
    </div>
  );
}

function Failure({ upload }: { upload: Upload }) {
  const isCanceled = upload.error_code === 'canceled_by_user';
  return (
    <Panel title={isCanceled ? 'Discarded' : 'Nothing was promoted'}>
      <div className="stack">
        <p className="failure">
          <Icon name={isCanceled ? 'slash' : 'xCircle'} />
          <span>
            {isCanceled ? 'Somebody discarded this upload before it was promoted.' : upload.error_text}{' '}
            <code className="dim">{upload.error_code}</code>
          </span>
        </p>
        {upload.total_rows === 0 ? null : (
          <CountSum
            total={upload.total_rows}
            noun="rows"
            parts={[
              {
                label: 'valid but not promoted',
                value: upload.total_rows - rejectedRows(upload),
                tone: 'queued',
              },
              { label: 'rejected', value: rejectedRows(upload), tone: 'failed' },
            ]}
          />
        )}
        <div className="row">
          <CorrectedLink upload={upload} isMain />
          {upload.error_code === 'required_columns_missing' ? (
            <span className="dim">Or upload the same file there and choose what its columns are.</span>
          ) : null}
        </div>
      </div>
    </Panel>
  );
}

function Figures({ upload }: { upload: Upload }) {
  const { promoted_rows: promoted, failed_rows: failed } = upload;
  return (
    <Panel title="What arrived" aside={<Days upload={upload} />}>
      <div className="stack">
        <CountSum
          total={promoted + failed}
          noun="rows"
          parts={[
            { label: 'promoted', value: promoted, tone: 'done' },
            { label: 'rejected', value: failed, tone: 'failed' },
          ]}
        />
        <dl className="arrived">
          {entities.map((entity) => (
            <Arrived key={entity} entity={entity} upload={upload} />
          ))}
        </dl>
        {upload.daily_metrics_upserted + upload.period_metrics_upserted < promoted ? <SameKeyNote /> : null}
        <ReconciliationLine upload={upload} />
        {failed === 0 ? null : (
          <div className="row">
            <span>
              Correct the rejected rows in rejected.csv and upload that file. The other rows stay unchanged.
            </span>
            <CorrectedLink upload={upload} />
          </div>
        )}
      </div>
    </Panel>
  );
}

const tabOf: Record<Entity, DataTab> = {
  campaigns: 'campaigns',
  ad_sets: 'ad-sets',
  ads: 'ads',
  daily_metrics: 'daily-metrics',
  period_metrics: 'period-metrics',
};

function Arrived({ entity, upload }: { entity: Entity; upload: Upload }) {
  const [state] = useListState(uploadSearch);
  const figure = upload[`${entity}_upserted`];
  return (
    <div>
      <dt className="dim small">{entityTitles[entity]}</dt>
      <dd className="big num">
        {figure === 0 ? (
          '0'
        ) : (
          <Link
            to="/uploads/$uploadId"
            params={{ uploadId: upload.upload_id }}
            search={{ ...state, tab: tabOf[entity], scope: 'upload' } as never}
            hash="promoted-rows"
            aria-label={`${count(figure)} ${entityTitles[entity].toLowerCase()}: show them`}
          >
            {count(figure)}
          </Link>
        )}
      </dd>
    </div>
  );
}

function Days({ upload: { affected_dates: days } }: { upload: Upload }) {
  const sorted = [...days].sort();
  if (sorted.length === 0) return null;
  const range = sorted.length === 1 ? sorted[0] : `${sorted[0]} to ${sorted.at(-1)}`;
  return (
    <span className="dim small num">
      {plural(sorted.length, 'day')}: {range}
    </span>
  );
}
