import { Select } from '@mantine/core';
import { useMemo } from 'react';
import { api } from '../../api/client.ts';
import { useCan, useMe } from '../../api/queries.ts';
import type { Tenant } from '../../api/types.ts';
import { useAction } from '../../parts/action.ts';
import { Id } from '../../parts/command.tsx';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import { KeysetTable } from '../../parts/keyset-table.tsx';
import type { Column } from '../../parts/list-table.tsx';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';
import { Ago } from '../../parts/time.tsx';

export function TenantSettings() {
  const tenant = useMe()?.tenant;
  const mayManage = useCan('tenant.manage');
  if (tenant === undefined) return null;
  const limits = Object.entries(tenant.limits);
  return (
    <div className="stack">
      <Panel title={tenant.name}>
        <dl className="facts">
          <dt>Id</dt>
          <dd>
            <Id value={tenant.tenant_id} length={60} />
          </dd>
          <dt>Plan</dt>
          <dd>{tenant.plan}</dd>
          <dt>Since</dt>
          <dd>
            <Ago at={tenant.created_at} />
          </dd>
          <dt>Own limits</dt>
          <dd>
            {limits.length === 0
              ? 'only those of the plan'
              : limits.map(([name, limit]) => `${name.replaceAll('_', ' ')}: ${count(limit)}`).join(', ')}
          </dd>
        </dl>
        <p className="dim small">Only the operator can change plans and limits.</p>
      </Panel>
      {mayManage ? <Tenants /> : null}
    </div>
  );
}

const rowKey = (tenant: Tenant) => tenant.tenant_id;
const plans: Tenant['plan'][] = ['free', 'growth', 'enterprise'];

/** For operators: every tenant of this installation. */
function Tenants() {
  const list = useKeysetList({
    queryKey: ['settings', 'tenants'],
    fetchPage: (cursor, signal) => api.get('/api/tenants', { query: { cursor, limit: 100 }, signal }),
    rowKey,
    announcesNew: false,
  });
  const columns = useColumns();
  return (
    <Panel title="All tenants">
      <KeysetTable
        label="Tenants"
        columns={columns}
        rows={list.rows}
        rowKey={rowKey}
        list={list}
        noun="tenants"
      />
    </Panel>
  );
}

function useColumns(): Column<Tenant>[] {
  const { run } = useAction({
    run: ({ tenant_id, plan }: Pick<Tenant, 'tenant_id' | 'plan'>) =>
      api.patch('/api/tenants/{tenant_id}', { path: { tenant_id }, body: { plan } }),
    done: ({ name, plan }) => `${name} now has the plan ${plan}.`,
    touches: ['settings', 'me'],
  });
  return useMemo(
    () => [
      { id: 'name', header: 'Tenant', cell: ({ name }) => <span className="cut">{name}</span> },
      {
        id: 'id',
        header: 'Id',
        width: 220,
        cell: ({ tenant_id }) => <span className="mono cut">{tenant_id}</span>,
      },
      {
        id: 'plan',
        header: 'Plan',
        width: 150,
        cell: ({ tenant_id, plan, name }) => (
          <Select
            aria-label={`Plan of ${name}`}
            size="xs"
            data={plans}
            value={plan}
            allowDeselect={false}
            onChange={(value) => run({ tenant_id, plan: (value ?? plan) as Tenant['plan'] })}
          />
        ),
      },
      { id: 'made', header: 'Since', width: 130, cell: ({ created_at }) => <Ago at={created_at} /> },
    ],
    [run],
  );
}
