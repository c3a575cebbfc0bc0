import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { UndoPreview, Upload } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Icon } from '../../parts/icons.tsx';
import { notifyProblem } from '../../parts/notify.ts';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';
import { entities, entityTitles } from './preview-table.tsx';
import { keepUpload } from './upload-query.ts';
import { isUndoable, nameOf } from './upload-states.ts';

/** Undo: first what would be deleted and what would stay, then what was deleted. */
export function UndoPanel({ upload }: { upload: Upload }) {
  if (upload.undone_at !== null) return <Undone upload={upload} at={upload.undone_at} />;
  return isUndoable(upload) ? <UndoOffer upload={upload} /> : null;
}

function UndoOffer({ upload }: { upload: Upload }) {
  const canControl = useCan('upload.control');
  const client = useQueryClient();
  const [isLooking, setIsLooking] = useState(false);
  const path = { upload_id: upload.upload_id };
  const undo = useAction({
    run: () => api.post('/api/uploads/{upload_id}/undo', { path }),
    done: ({ deleted }) => `Undone ${nameOf(upload)}: ${wordsOf(deleted) || 'nothing'} deleted.`,
    touches: ['uploads', 'overview'],
    afterwards: ({ upload: undone }) => keepUpload(undone),
  });
  const ask = async () => {
    setIsLooking(true);
    try {
      const found = await client.fetchQuery({
        queryKey: ['uploads', 'undo', upload.upload_id],
        queryFn: () => api.get('/api/uploads/{upload_id}/undo', { path }),
        staleTime: 0,
      });
      setIsLooking(false);
      const isWanted = await confirm({
        title: `Undo ${nameOf(upload)}?`,
        consequence: <UndoConsequence found={found} />,
        action: 'Undo this upload',
        isDanger: true,
      });
      if (isWanted) undo.run();
    } catch (error) {
      setIsLooking(false);
      notifyProblem(error);
    }
  };
  return (
    <div className="row">
      <Button
        variant="default"
        disabled={!canControl}
        title={canControl ? undefined : 'Your role can read uploads but not undo them'}
        loading={isLooking || undo.isRunning}
        leftSection={<Icon name="undo" size={14} />}
        onClick={() => void ask()}
      >
        Undo this upload …
      </Button>
      <span className="dim small">You first see what would be undone and what would stay.</span>
    </div>
  );
}

function UndoConsequence({ found }: { found: UndoPreview }) {
  const goes = wordsOf(found.deleted);
  const stays = wordsOf(found.not_undone);
  return (
    <div className="stack">
      <p>
        <b>Deleted:</b> {goes === '' ? 'nothing' : goes} – what this upload created and nobody has touched
        since.
      </p>
      <p>
        <b>Not undone:</b> {stays === '' ? 'nothing' : stays}
        {stays === ''
          ? '.'
          : ' – they were there before it, or a later upload has confirmed or changed them. ' +
            'They keep their values.'}
      </p>
      <p>This cannot be undone, but the file can be uploaded again.</p>
    </div>
  );
}

function wordsOf(counts: UndoPreview['deleted']): string {
  return entities
    .filter((entity) => counts[entity] > 0)
    .map((entity) => `${count(counts[entity])} ${nounOf(entity, counts[entity])}`)
    .join(', ');
}

function nounOf(entity: (typeof entities)[number], value: number): string {
  const many = entityTitles[entity].toLowerCase();
  return value === 1 ? many.replace(/s$/, '') : many;
}

function undoneWords(deleted: UndoPreview['deleted'], left: UndoPreview['deleted']): string {
  const goes = `${wordsOf(deleted) || 'Nothing'} deleted`;
  return wordsOf(left) === ''
    ? `${goes}; the whole upload is undone.`
    : `${goes}; ${wordsOf(left)} not undone.`;
}

/** The event has the content of the response, also for later visitors. */
function Undone({ upload, at }: { upload: Upload; at: string }) {
  const event = useQuery({
    queryKey: ['uploads', 'undone', upload.upload_id],
    queryFn: ({ signal }) =>
      api.get('/api/events', { query: { type: 'upload.undone', subject: upload.upload_id }, signal }),
  }).data?.data[0];
  const report = event?.data as Partial<UndoPreview> | undefined;
  return (
    <Panel title="Undone" aside={<Ago at={at} />}>
      {report?.deleted === undefined || report.not_undone === undefined ? (
        <p className="dim">Everything that it created and nobody changed since was deleted.</p>
      ) : (
        <p>{undoneWords(report.deleted, report.not_undone)}</p>
      )}
    </Panel>
  );
}
