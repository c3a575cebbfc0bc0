import { Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMe, workspacesQuery } from '../api/queries.ts';
import { Icon } from '../parts/icons.tsx';
import { useWorkspace } from './workspace.ts';

/** Tenant, and which of its workspaces the lists are narrowed to. */
export function WorkspaceSwitch() {
  const me = useMe();
  const [workspaceId, choose] = useWorkspace();
  const workspaces = useQuery(workspacesQuery).data?.data ?? [];
  const chosen = workspaces.find(({ workspace_id }) => workspace_id === workspaceId);
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <button type="button" className="bar-button workspace-switch">
          <b>{me?.tenant.name ?? me?.tenant_id ?? 'Sluice'}</b>
          <span className="dim">{chosen?.name ?? 'All workspaces'}</span>
          <Icon name="chevronDown" size={13} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          Tenant {me?.tenant_id}, plan {me?.plan}
        </Menu.Label>
        <Menu.Item onClick={() => choose(undefined)} leftSection={<Mark isOn={workspaceId === undefined} />}>
          All workspaces
        </Menu.Item>
        {workspaces.map(({ workspace_id, name }) => (
          <Menu.Item
            key={workspace_id}
            onClick={() => choose(workspace_id)}
            leftSection={<Mark isOn={workspace_id === workspaceId} />}
          >
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Mark({ isOn }: { isOn: boolean }) {
  return <span className="menu-mark">{isOn ? <Icon name="check" size={14} /> : null}</span>;
}
