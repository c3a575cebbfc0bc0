import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Upload } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { CheckStep } from './check-step.tsx';
import { ColumnsStep } from './columns-step.tsx';
import { titleOf } from './platforms.ts';
import { ResultStep } from './result-step.tsx';
import { type UploadSearch, uploadSearch } from './search.ts';
import { unpackedWords } from './unpacked-words.ts';
import { keepUpload, uploadQuery } from './upload-query.ts';
import {
  chipOf,
  failedAt,
  isFinished,
  isHeld,
  isMoving,
  lacksColumns,
  nameOf,
  type Step,
  stepOf,
} from './upload-states.ts';
import { WizardSteps } from './wizard-steps.tsx';
import { WorkingStep } from './working-step.tsx';
import './uploads.css';

const crumbs = [{ label: 'Uploads', to: '/uploads' }];
export default function UploadPage() {
  const { uploadId = '' } = useParams({ strict: false });
  const query = useQuery(uploadQuery(uploadId));
  const upload = query.data;
  if (upload === undefined) {
    return (
      <Page title="Upload" breadcrumbs={crumbs}>
        {query.error === null ? (
          <p className="dim">Loading …</p>
        ) : (
          <Problem error={query.error} retry={() => void query.refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={nameOf(upload)}
      breadcrumbs={crumbs}
      state={<StatusChip {...chipOf(upload)} />}
      sentence={<Origin upload={upload} />}
      actions={<UploadActions upload={upload} />}
    >
      {query.error === null ? null : (
        <Problem error={query.error} retry={() => void query.refetch()} isStale />
      )}
      <Wizard upload={upload} />
    </Page>
  );
}

function Origin({ upload }: { upload: Upload }) {
  return (
    <span className="row small">
      <span>{titleOf(upload.platform)}</span>
      {upload.unpacked === null ? null : <span>{unpackedWords(upload.unpacked)}</span>}
      <span>
        by {upload.created_by} <Ago at={upload.created_at} />
      </span>
      {upload.finished_at === null ? null : (
        <span>
          ended <Ago at={upload.finished_at} />
        </span>
      )}
      <Link to="/jobs/$jobId" params={{ jobId: upload.job_id }} className="job-link">
        Job and history
      </Link>
    </span>
  );
}

function Wizard({ upload }: { upload: Upload }) {
  const [state, change] = useListState(uploadSearch);
  const step = stepOf(upload, state.step);
  const show = (asked: UploadSearch['step']) => () => change({ step: asked });
  const canChoose = isHeld(upload) && !upload.checking;
  const go: Partial<Record<Step, () => void>> = canChoose
    ? { Columns: show('columns'), ...(lacksColumns(upload) ? {} : { Check: show('check') }) }
    : {};
  return (
    <>
      {upload.status === 'failed' ? (
        <WizardSteps current={failedAt(upload)} isFailed />
      ) : (
        <WizardSteps current={step} go={go} />
      )}
      <StepBody upload={upload} step={step} show={(asked) => change({ step: asked })} />
    </>
  );
}

function StepBody(props: { upload: Upload; step: Step; show: (asked: UploadSearch['step']) => void }) {
  const { upload, step, show } = props;
  if (isFinished(upload)) return <ResultStep upload={upload} />;
  if (isMoving(upload)) return <WorkingStep upload={upload} />;
  // A new form for every mapping: a colleague's choice is the start of the next one.
  const version = JSON.stringify(upload.mapping);
  return step === 'Columns' ? (
    <ColumnsStep key={version} upload={upload} onCheck={() => show('check')} />
  ) : (
    <CheckStep upload={upload} onColumns={() => show('columns')} />
  );
}

function UploadActions({ upload }: { upload: Upload }) {
  const canControl = useCan('upload.control');
  const cancel = useAction({
    run: () => api.post('/api/uploads/{upload_id}/cancel', { path: { upload_id: upload.upload_id } }),
    done: () => `Discarded ${nameOf(upload)}. Nothing of it was promoted.`,
    touches: ['uploads', 'jobs', 'overview'],
    afterwards: keepUpload,
  });
  if (!canControl || isFinished(upload) || upload.status === 'promoting') return null;
  const ask = async () => {
    const isWanted = await confirm({
      title: 'Discard this upload?',
      consequence: 'Its staged rows are removed and nothing is promoted. The file can be uploaded again.',
      action: 'Discard upload',
      isDanger: true,
    });
    if (isWanted) cancel.run();
  };
  return (
    <Button variant="default" loading={cancel.isRunning} onClick={() => void ask()}>
      Discard
    </Button>
  );
}
