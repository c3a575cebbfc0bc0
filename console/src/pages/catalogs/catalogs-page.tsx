import { Button } from '@mantine/core';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Catalog } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Empty } from '../../parts/empty.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { ListPage } from '../../parts/list-page.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { Ago } from '../../parts/time.tsx';
import { CatalogPanel } from './catalog-panel.tsx';
import { catalogsSearch } from './search.ts';
import { TryRow } from './try-row.tsx';
import { UploadDialog } from './upload-dialog.tsx';
import './catalogs.css';

const rowKey = ({ name }: Catalog) => name;

export default function CatalogsPage() {
  const [{ catalog }, change] = useListState(catalogsSearch);
  const mayManage = useCan('catalog.manage');
  /** The name of the catalogue to replace; empty: a new one. */
  const [upload, setUpload] = useState<string | null>(null);
  const list = useKeysetList({
    queryKey: ['catalogs', 'list'],
    fetchPage: (cursor, signal) => api.get('/api/catalogs', { query: { cursor, limit: 100 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const chosen = list.rows.find(({ name }) => name === catalog) ?? onlyOne(list.rows);
  const button = mayManage ? <Button onClick={() => setUpload('')}>Upload a catalogue</Button> : undefined;
  return (
    <ListPage
      title="Catalogues"
      sentence="Products that items jobs match rows against. A new file replaces the whole catalogue."
      actions={button}
      label="Catalogues"
      columns={columns}
      rows={list.rows}
      rowKey={rowKey}
      onOpen={({ name }) => change({ catalog: name })}
      openKey={chosen?.name}
      maxHeight="40vh"
      empty={<NoCatalogue button={button} />}
      list={list}
      noun="catalogues"
    >
      {chosen === undefined ? null : (
        <div className="columns catalog-detail">
          <CatalogPanel
            catalog={chosen}
            onReplace={() => setUpload(chosen.name)}
            onGone={() => change({ catalog: undefined })}
          />
          <TryRow key={chosen.name} catalog={chosen} />
        </div>
      )}
      {upload === null ? null : (
        <UploadDialog
          name={upload}
          onClose={() => setUpload(null)}
          onDone={({ name }) => change({ catalog: name })}
        />
      )}
    </ListPage>
  );
}

/** With one catalogue there is nothing to choose. */
function onlyOne(rows: readonly Catalog[]): Catalog | undefined {
  return rows.length === 1 ? rows[0] : undefined;
}

function NoCatalogue({ button }: { button: React.ReactNode }) {
  return (
    <Empty
      sentence="No catalogue yet. Upload a CSV of your products with a column for the SKU or the title."
      sample={['products', '41,200 products', 'version 3', '2 min ago']}
      button={button}
      command="sluice catalog put products products.csv"
    />
  );
}

const columns: Column<Catalog>[] = [
  { id: 'name', header: 'Name', width: 220, cell: ({ name }) => <span className="cut">{name}</span> },
  {
    id: 'products',
    header: 'Products',
    width: 110,
    align: 'end',
    cell: ({ productCount }) => <span className="num">{count(productCount)}</span>,
  },
  {
    id: 'version',
    header: 'Version',
    width: 80,
    align: 'end',
    cell: ({ version }) => <span className="num">{version}</span>,
  },
  { id: 'when', header: 'Replaced', width: 130, cell: ({ updatedAt }) => <Ago at={updatedAt} /> },
  {
    id: 'file',
    header: 'File',
    cell: ({ fileName }) => <span className="cut">{fileName ?? ''}</span>,
  },
];
