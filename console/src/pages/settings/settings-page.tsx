import { Tabs } from '@mantine/core';
import { useMe } from '../../api/queries.ts';
import type { Me } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { Page } from '../../parts/page.tsx';
import { ApiKeys } from './api-keys.tsx';
import { OwnAccess } from './own-access.tsx';
import { type SettingsSearch, settingsSearch } from './search.ts';
import { Secrets } from './secrets.tsx';
import { TenantSettings } from './tenant.tsx';
import { Users } from './users.tsx';
import { Workspaces } from './workspaces.tsx';

interface SettingsTab {
  value: SettingsSearch['tab'];
  label: string;
  /** Without it the tab says why there is nothing to see. */
  right: string;
  content: React.ReactNode;
}

const tabs: SettingsTab[] = [
  { value: 'workspaces', label: 'Workspaces', right: 'workspace.read', content: <Workspaces /> },
  { value: 'access', label: 'Your access', right: 'session.end', content: <OwnAccess /> },
  { value: 'users', label: 'Users', right: 'user.read', content: <Users /> },
  { value: 'keys', label: 'API keys', right: 'api_key.manage', content: <ApiKeys /> },
  { value: 'secrets', label: 'Secrets', right: 'secret.manage', content: <Secrets /> },
  { value: 'tenant', label: 'Tenant', right: 'tenant.read_own', content: <TenantSettings /> },
];

export default function SettingsPage() {
  const [{ tab = 'workspaces' }, change] = useListState(settingsSearch);
  const me = useMe();
  return (
    <Page title="Settings" sentence={me === undefined ? undefined : whoIs(me)}>
      <Tabs
        value={tab}
        onChange={(value) => change({ tab: (value ?? 'workspaces') as SettingsSearch['tab'] })}
        keepMounted={false}
      >
        <Tabs.List>
          {tabs.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(({ value, right, content }) => (
          <Tabs.Panel key={value} value={value} pt="md">
            {me?.rights.includes(right) ? content : <NotYours role={me?.role} />}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}

function whoIs({ name, user_id, role, tenant }: Me): string {
  return `You are ${name ?? user_id}, ${role} of ${tenant.name} (plan ${tenant.plan}).`;
}

function NotYours({ role }: { role: string | undefined }) {
  return <p className="dim">Only admins of the tenant see this; your role is {role ?? 'not known yet'}.</p>;
}
