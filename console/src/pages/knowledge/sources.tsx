import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { KnowledgeSource } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { Ago } from '../../parts/time.tsx';
import { sourceWords } from './kb-words.ts';
import { emptySource, isReady, SourceFields, sourceBody } from './source-fields.tsx';

const rowKey = (source: KnowledgeSource) => source.source_id;

export function Sources({ kbId }: { kbId: string }) {
  const mayManage = useCan('knowledge.manage');
  const [isOpen, setOpen] = useState(false);
  const list = useKeysetList({
    queryKey: ['knowledge', 'sources', kbId],
    fetchPage: (cursor, signal) =>
      api.get('/api/knowledge/{kb_id}/sources', {
        path: { kb_id: kbId },
        query: { cursor, limit: 100 },
        signal,
      }),
    rowKey,
    announcesNew: false,
  });
  const columns = useColumns(kbId, mayManage);
  const button = mayManage ? <Button onClick={() => setOpen(true)}>Add a source</Button> : null;
  return (
    <div className="stack">
      <div className="row">
        <span className="dim">The next run reads new sources. </span>
        {button}
      </div>
      <KeysetTable
        label="Sources"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={<Empty sentence="No source yet. Add one, or add single files." />}
        list={list}
        noun="sources"
      />
      {isOpen ? <AddDialog kbId={kbId} onClose={() => setOpen(false)} /> : null}
    </div>
  );
}

function AddDialog({ kbId, onClose }: { kbId: string; onClose: () => void }) {
  const [draft, setDraft] = useState(emptySource);
  return (
    <FormDialog
      title="Add a source"
      isOpen
      onClose={onClose}
      action="Add source"
      isReady={isReady(draft)}
      send={() =>
        api.post('/api/knowledge/{kb_id}/sources', { path: { kb_id: kbId }, body: sourceBody(draft) })
      }
      done={() => 'Added the source. The next run loads it.'}
      touches={['knowledge']}
    >
      {(error) => <SourceFields draft={draft} change={setDraft} error={error} />}
    </FormDialog>
  );
}

function useColumns(kbId: string, mayManage: boolean): Column<KnowledgeSource>[] {
  const { run } = useAction({
    run: ({ source_id }: KnowledgeSource) =>
      api.delete('/api/knowledge/{kb_id}/sources/{source_id}', { path: { kb_id: kbId, source_id } }),
    done: () => 'Deleted the source. The next run removes its documents.',
    touches: ['knowledge'],
  });
  return useMemo(() => {
    const remove = async (source: KnowledgeSource) => {
      const consequence = 'The next run removes its documents from the index.';
      if (
        await confirm({
          title: `Delete ${sourceWords(source)}?`,
          consequence,
          action: 'Delete source',
          isDanger: true,
        })
      )
        run(source);
    };
    const button = (source: KnowledgeSource) =>
      mayManage ? (
        <Button variant="subtle" color="red" size="compact-xs" onClick={() => void remove(source)}>
          Delete
        </Button>
      ) : null;
    return [
      { id: 'what', header: 'Source', cell: (source) => <span className="cut">{sourceWords(source)}</span> },
      { id: 'at', header: 'Added', width: 120, cell: ({ created_at }) => <Ago at={created_at} /> },
      { id: 'do', header: '', width: 100, cell: button },
    ];
  }, [mayManage, run]);
}
