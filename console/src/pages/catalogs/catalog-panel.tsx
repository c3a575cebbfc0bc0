import { Button } from '@mantine/core';
import { api } from '../../api/client.ts';
import { useCan } from '../../api/queries.ts';
import type { Catalog } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { confirm } from '../../parts/confirm.tsx';
import { CountSum } from '../../parts/counts.tsx';
import { plural } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';

interface CatalogPanelProps {
  catalog: Catalog;
  onReplace: () => void;
  onGone: () => void;
}

const fieldNames = { sku: 'SKU', brand: 'Brand', title: 'Title', gtin: 'GTIN' } as const;

export function CatalogPanel({ catalog, onReplace, onGone }: CatalogPanelProps) {
  const mayManage = useCan('catalog.manage');
  const { name, productCount, skippedCount, fields, columns } = catalog;
  const others = columns.filter((column) => !Object.values(fields).includes(column));
  return (
    <Panel
      title={name}
      aside={mayManage ? <Actions catalog={catalog} onReplace={onReplace} onGone={onGone} /> : undefined}
    >
      <div className="stack">
        <CountSum
          total={productCount + skippedCount}
          noun="rows"
          parts={[
            { label: 'products', value: productCount, tone: 'done' },
            { label: 'left out: no SKU and no title', value: skippedCount, tone: 'canceled' },
          ]}
        />
        <dl className="facts">
          <dt>Version</dt>
          <dd>
            <span className="num">{catalog.version}</span>, sent <Ago at={catalog.updatedAt} /> by{' '}
            {catalog.updatedBy}
          </dd>
          <dt>File</dt>
          <dd className="catalog-words">{catalog.fileName ?? 'without a name'}</dd>
          {Object.entries(fieldNames).map(([field, label]) => (
            <Field key={field} label={label} column={fields[field as keyof typeof fieldNames]} />
          ))}
          <dt>Other columns</dt>
          <dd className="catalog-words">
            {others.length === 0
              ? 'none'
              : others.slice(0, 12).join(', ') +
                (others.length > 12 ? ` and ${plural(others.length - 12, 'more column')}` : '')}
          </dd>
        </dl>
      </div>
    </Panel>
  );
}

function Field({ label, column }: { label: string; column: string | null }) {
  return (
    <>
      <dt>{label}</dt>
      <dd className="catalog-words">
        {column === null ? <span className="dim">no column</span> : <>column {column}</>}
      </dd>
    </>
  );
}

function Actions({ catalog, onReplace, onGone }: CatalogPanelProps) {
  const { name, productCount } = catalog;
  const remove = useAction({
    run: () => api.delete('/api/catalogs/{name}', { path: { name } }),
    done: () => `Deleted the catalogue ${name}.`,
    touches: ['catalogs'],
    afterwards: onGone,
  });
  const ask = async () => {
    const isSure = await confirm({
      title: `Delete the catalogue ${name}?`,
      consequence: `${plural(productCount, 'product')} will be deleted. Rows that still need them end as errors.`,
      action: `Delete ${plural(productCount, 'product')}`,
      isDanger: true,
    });
    if (isSure) remove.run();
  };
  return (
    <div className="row">
      <Button variant="default" onClick={onReplace}>
        Replace
      </Button>
      <Button variant="default" color="red" loading={remove.isRunning} onClick={() => void ask()}>
        Delete
      </Button>
    </div>
  );
}
