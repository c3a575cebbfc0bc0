import { api } from '../../api/client.ts';
import type { ScrapeReference } from '../../api/types.ts';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { bytes } from '../../parts/number.ts';
import { StatusChip } from '../../parts/status-chip.tsx';
import { Ago } from '../../parts/time.tsx';

const rowKey = (reference: ScrapeReference) => reference.reference_id;

export function References({ source }: { source: string }) {
  const list = useKeysetList({
    queryKey: ['scrapes', 'references', source],
    fetchPage: (cursor, signal) =>
      api.get('/api/scraping/{source}/references', {
        path: { source },
        query: { cursor, limit: 100 },
        signal,
      }),
    rowKey,
  });
  return (
    <KeysetTable
      label="References"
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      empty={<Empty sentence="No reference yet. Push one, or start a crawl." />}
      list={list}
      noun="references"
    />
  );
}

const columns: Column<ScrapeReference>[] = [
  { id: 'title', header: 'Title', width: 260, cell: ({ title }) => <span className="cut">{title}</span> },
  {
    id: 'id',
    header: 'External id',
    width: 200,
    cell: ({ external_id }) => <span className="cut mono">{external_id}</span>,
  },
  {
    id: 'state',
    header: 'State',
    width: 100,
    cell: ({ gone_at }) => <StatusChip status={gone_at === null ? 'active' : 'gone'} />,
  },
  { id: 'size', header: 'Size', width: 90, align: 'end', cell: ({ content_bytes }) => bytes(content_bytes) },
  { id: 'at', header: 'Changed', width: 110, cell: ({ updated_at }) => <Ago at={updated_at} /> },
  {
    id: 'url',
    header: 'Address',
    cell: ({ url }) =>
      // Addresses come from scraped pages: only those that a browser may open safely become links.
      /^https?:\/\//i.test(url) ? (
        <a href={url} target="_blank" rel="noreferrer noopener" className="cut">
          {url}
        </a>
      ) : (
        <span className="cut">{url}</span>
      ),
  },
];
