import { Button, Drawer } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { api } from '../../api/client.ts';
import type { KnowledgeDocument, KnowledgePassage } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { MoreRows, useKeysetList } from '../../parts/keyset-list.tsx';
import { Problem } from '../../parts/problem.tsx';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';
import { Marked } from './marked.tsx';
import { knowledgeBaseSearch } from './search.ts';

/** A document as the index has it; with a passage that was found, from just before that one. */
export function DocumentDrawer({ kbId }: { kbId: string }) {
  const [{ document: documentId, at }, change] = useListState(knowledgeBaseSearch);
  return (
    <Drawer
      opened={documentId !== undefined}
      onClose={() => change({ document: undefined, at: undefined })}
      position="right"
      size="xl"
      title="Document"
    >
      {documentId === undefined ? null : (
        <>
          <DocumentHead kbId={kbId} documentId={documentId} />
          <Passages key={`${documentId} ${at}`} kbId={kbId} documentId={documentId} at={at} />
        </>
      )}
    </Drawer>
  );
}

function DocumentHead({ kbId, documentId }: { kbId: string; documentId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['knowledge', 'document', kbId, documentId],
    queryFn: ({ signal }) =>
      api.get('/api/knowledge/{kb_id}/documents/{document_id}', {
        path: { kb_id: kbId, document_id: documentId },
        signal,
      }),
  });
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />;
  if (data === undefined) return <p className="dim">Loading …</p>;
  return <Facts document={data} />;
}

function Facts({ document }: { document: KnowledgeDocument }) {
  return (
    <div className="stack">
      <h3>{document.title || document.uri}</h3>
      <span className="row">
        <StatusChip status={document.state} /> <Ago at={document.updated_at} />
      </span>
      <span className="mono small dim">{document.uri}</span>
      {document.error_text === null ? null : (
        <p>
          {document.error_text} <span className="dim mono small">{document.error_code}</span>
        </p>
      )}
      {document.notes.map((note) => (
        <p key={note} className="small">
          {note}
        </p>
      ))}
    </div>
  );
}

const ordinalOf = ({ ordinal }: KnowledgePassage) => String(ordinal);

function Passages({ kbId, documentId, at }: { kbId: string; documentId: string; at: string | undefined }) {
  const [{ q = '' }, change] = useListState(knowledgeBaseSearch);
  const around = at !== undefined && /^\d{1,9}$/.test(at) ? Number(at) : undefined;
  const list = useKeysetList({
    queryKey: ['knowledge', 'passages', kbId, documentId, around ?? null],
    fetchPage: (cursor, signal) =>
      api.get('/api/knowledge/{kb_id}/documents/{document_id}/passages', {
        path: { kb_id: kbId, document_id: documentId },
        query: { limit: 20, cursor, ...(cursor === undefined ? { around } : {}) },
        signal,
      }),
    rowKey: ordinalOf,
    announcesNew: false,
  });
  const isLater = (list.rows[0]?.ordinal ?? 0) > 0;
  return (
    <section className="stack" aria-label="Passages">
      {list.error === null ? null : <Problem error={list.error} retry={list.refetch} />}
      {isLater ? (
        <Button variant="subtle" size="compact-xs" onClick={() => change({ at: undefined })}>
          From the beginning
        </Button>
      ) : null}
      {list.rows.map((passage) => (
        <PassageText key={passage.ordinal} passage={passage} query={q} isFound={passage.start === around} />
      ))}
      {list.rows.length === 0 && !list.isLoading ? (
        <p className="dim">This document has no passages in the index.</p>
      ) : null}
      {list.rows.length === 0 ? null : <MoreRows list={list} noun="passages" />}
    </section>
  );
}

function PassageText(props: { passage: KnowledgePassage; query: string; isFound: boolean }) {
  const { passage, query, isFound } = props;
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isFound) place.current?.scrollIntoView({ block: 'center' });
  }, [isFound]);
  return (
    <article className="kb-passage" data-found={isFound || undefined} ref={place}>
      <span className="dim small">
        {[passage.page === undefined ? null : `Page ${passage.page}`, ...passage.heading_path]
          .filter((part) => part !== null)
          .join(' › ')}
      </span>
      <p className="kb-text">
        <Marked text={passage.text} query={isFound ? query : ''} />
      </p>
    </article>
  );
}
