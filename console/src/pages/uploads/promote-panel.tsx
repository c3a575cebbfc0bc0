import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Upload, UploadPreview } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { count, plural, share } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { CorrectedLink } from './corrected-link.tsx';
import { entities, entityTitles } from './preview-table.tsx';
import { keepUpload } from './upload-query.ts';

/** The decision, with its number. Below the threshold it explains the consequence of continuing. */
export function PromotePanel({ upload, preview }: { upload: Upload; preview: UploadPreview | undefined }) {
  const canControl = useCan('upload.control');
  const promote = useAction({
    run: (isForced: boolean) =>
      api.post('/api/uploads/{upload_id}/promote', {
        path: { upload_id: upload.upload_id },
        body: isForced ? { force_partial: true } : {},
      }),
    done: () => `Promoting ${plural(upload.valid_rows, 'row')}.`,
    touches: ['uploads', 'overview'],
    afterwards: keepUpload,
  });
  return (
    <Panel title="Promote" className="promote-panel">
      <div className="stack">
        {preview === undefined ? (
          <p className="dim">Comparing with existing data …</p>
        ) : (
          <Decision upload={upload} preview={preview}>
            {(words, isForced) => (
              <Button
                disabled={!canControl}
                title={canControl ? undefined : 'Your role can read uploads but not promote them'}
                loading={promote.isRunning}
                variant={isForced ? 'default' : 'filled'}
                onClick={() =>
                  void (isForced ? insists(upload) : Promise.resolve(true)).then((isWanted) => {
                    if (isWanted) promote.run(isForced);
                  })
                }
              >
                {words}
              </Button>
            )}
          </Decision>
        )}
      </div>
    </Panel>
  );
}

interface DecisionProps {
  upload: Upload;
  preview: UploadPreview;
  children: (words: string, isForced: boolean) => ReactNode;
}

function Decision({ upload, preview, children }: DecisionProps) {
  const { valid_rows: valid, total_rows: total, invalid_rows: invalid } = upload;
  const { threshold } = preview;
  if (upload.blockers.length > 0) {
    return (
      <>
        <p>
          <b>Something has to be decided first:</b>
        </p>
        <ul className="notes">
          {upload.blockers.map(({ code, message }) => (
            <li key={code + message}>{message}</li>
          ))}
        </ul>
        <p className="dim">Choose what the column is in the step Columns, or leave it out there.</p>
      </>
    );
  }
  if (valid === 0) {
    return (
      <>
        <p>
          <b>Nothing can be promoted:</b> {total === 0 ? 'the file has no rows.' : 'no row is valid.'}
        </p>
        <CorrectedLink upload={upload} isMain />
      </>
    );
  }
  if (threshold.is_met || upload.force_partial) {
    return (
      <>
        <Consequence preview={preview} />
        {invalid === 0 ? null : (
          <p className="dim">
            {plural(invalid, 'row')} {invalid === 1 ? 'stays' : 'stay'} behind with the reason; correct and
            upload {invalid === 1 ? 'it' : 'them'} at any time.
          </p>
        )}
        {children(`Promote ${plural(valid, 'row')}`, false)}
      </>
    );
  }
  return (
    <>
      <p>
        <b>Too many rows are rejected:</b> {share(valid, total)} of them are valid, {threshold.percent_needed}{' '}
        % are needed.
      </p>
      <p>
        Usually something is wrong with the whole file. Look at the reasons, correct it, and upload it again.
      </p>
      <CorrectedLink upload={upload} isMain />
      <p className="dim">
        Or continue without the {plural(invalid, 'rejected row')}. Figures of these days and campaigns will
        then be incomplete until you upload {invalid === 1 ? 'it' : 'them'}.
      </p>
      {children(`Promote only the ${count(valid)} valid`, true)}
    </>
  );
}

function Consequence({ preview }: { preview: UploadPreview }) {
  const news = entities.flatMap((entity) => {
    const { created, updated } = preview[entity];
    const what = entityTitles[entity].toLowerCase();
    return [
      ...(created > 0 ? [`${count(created)} ${what} created`] : []),
      ...(updated > 0 ? [`${count(updated)} ${what} updated`] : []),
    ];
  });
  if (news.length === 0) return <p>Nothing would change: all data in the file is already known.</p>;
  return (
    <ul className="notes">
      {news.map((words) => (
        <li key={words}>{words}</li>
      ))}
    </ul>
  );
}

function insists({ valid_rows: valid, total_rows: total, invalid_rows: invalid }: Upload): Promise<boolean> {
  return confirm({
    title: `Promote ${count(valid)} of ${count(total)} rows?`,
    consequence:
      `${plural(invalid, 'row')} will be missing from the data, and the figures will not show it. ` +
      'The upload ends as “partly done”. It can be undone.',
    action: `Promote ${plural(valid, 'row')}`,
    isDanger: true,
  });
}
