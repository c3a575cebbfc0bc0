import { Button } from '@mantine/core';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { KnowledgeFile } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { bytes } from '../../parts/number.ts';
import { Ago } from '../../parts/time.tsx';
import { DropFiles } from './drop-files.tsx';

const rowKey = (file: KnowledgeFile) => file.file_id;

export function Files({ kbId }: { kbId: string }) {
  const mayIngest = useCan('knowledge.ingest');
  const list = useKeysetList({
    queryKey: ['knowledge', 'files', kbId],
    fetchPage: (cursor, signal) =>
      api.get('/api/knowledge/{kb_id}/files', {
        path: { kb_id: kbId },
        query: { cursor, limit: 100 },
        signal,
      }),
    rowKey,
    announcesNew: false,
  });
  const columns = useColumns(kbId, mayIngest);
  return (
    <div className="stack">
      {mayIngest ? <DropFiles kbId={kbId} /> : null}
      <KeysetTable
        label="Added files"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        empty={<Empty sentence="No file yet. Drop files above, or add a source." />}
        list={list}
        noun="files"
      />
    </div>
  );
}

function useColumns(kbId: string, mayIngest: boolean): Column<KnowledgeFile>[] {
  const { run } = useAction({
    run: ({ file_id }: KnowledgeFile) =>
      api.delete('/api/knowledge/{kb_id}/documents/{document_id}', {
        path: { kb_id: kbId, document_id: file_id },
      }),
    done: (_, { name }: KnowledgeFile) => `Deleted ${name} and its passages.`,
    touches: ['knowledge'],
  });
  return useMemo(() => {
    const remove = async (file: KnowledgeFile) => {
      const consequence = 'The file and its passages are deleted at once.';
      if (
        await confirm({ title: `Delete ${file.name}?`, consequence, action: 'Delete file', isDanger: true })
      )
        run(file);
    };
    const button = (file: KnowledgeFile) =>
      mayIngest ? (
        <Button variant="subtle" color="red" size="compact-xs" onClick={() => void remove(file)}>
          Delete
        </Button>
      ) : null;
    return [
      { id: 'name', header: 'File', cell: ({ name }) => <span className="cut">{name}</span> },
      { id: 'size', header: 'Size', width: 90, align: 'end', cell: ({ size_bytes }) => bytes(size_bytes) },
      { id: 'at', header: 'Added', width: 120, cell: ({ created_at }) => <Ago at={created_at} /> },
      { id: 'do', header: '', width: 100, cell: button },
    ];
  }, [mayIngest, run]);
}
