import { oneOf, searchParser } from '../../list-state.ts';

export interface SettingsSearch {
  tab: 'workspaces' | 'access' | 'users' | 'keys' | 'secrets' | 'tenant';
}

export const settingsSearch = searchParser<SettingsSearch>({
  tab: oneOf(['workspaces', 'access', 'users', 'keys', 'secrets', 'tenant']),
});
