import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { api } from '../api/client.ts';
import { live, queryClient, useMe } from '../api/queries.ts';
import { Icon } from '../parts/icons.tsx';
import { showKeyHelp, showPalette } from '../parts/keyboard.tsx';
import { notifyProblem } from '../parts/notify.ts';
import { LiveDot } from './live-dot.tsx';
import { NeedsYou } from './needs-you.tsx';
import { WorkspaceSwitch } from './workspace-switch.tsx';

export function TopBar({ onMenu }: { onMenu: () => void }) {
  return (
    <header className="top-bar">
      <button type="button" className="bar-button only-narrow" aria-label="Menu" onClick={onMenu}>
        <Icon name="menu" size={18} />
      </button>
      <WorkspaceSwitch />
      <button type="button" className="bar-search" aria-label="Search or go to … /" onClick={showPalette}>
        <Icon name="search" size={14} />
        <span>Search or go to …</span>
        <kbd>/</kbd>
      </button>
      <div className="top-bar-end">
        <LiveDot />
        <NeedsYou />
        <SchemeButton />
        <PersonMenu />
      </div>
    </header>
  );
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <button
      type="button"
      className="bar-button"
      aria-label={`Switch to ${other}`}
      onClick={() => setColorScheme(other)}
    >
      <Icon name={scheme === 'dark' ? 'sun' : 'moon'} />
    </button>
  );
}

function PersonMenu() {
  const me = useMe();
  const navigate = useNavigate();
  const name = me?.name ?? me?.email ?? me?.user_id ?? '';
  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <button type="button" className="bar-button" aria-label={`You: ${name}, ${me?.role ?? ''}`}>
          <Icon name="hand" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {name}
          <br />
          Role {me?.role}
        </Menu.Label>
        <Menu.Item
          leftSection={<Icon name="key" />}
          onClick={() => void navigate({ to: '/settings', search: { tab: 'access' } as never })}
        >
          Your access
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="keyboard" />} onClick={showKeyHelp}>
          Keys
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="book" />} component="a" href="/docs">
          Documentation
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="external" />} component="a" href="/api/docs">
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item
          leftSection={<Icon name="logout" />}
          onClick={() => void logOut().then(() => navigate({ to: '/login' }))}
        >
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

async function logOut(): Promise<void> {
  try {
    await api.post('/api/session/logout');
  } catch (error) {
    notifyProblem(error);
    throw error;
  }
  live.stop();
  queryClient.clear();
}
