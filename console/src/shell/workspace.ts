import { searchParser, text, useListState } from '../list-state.ts';

/** Which workspace lists are narrowed to; it stays in the URL wherever one goes. */
export interface RootSearch {
  workspace: string;
}

export const rootSearch = searchParser<RootSearch>({ workspace: text() });

export function useWorkspace(): [workspaceId: string | undefined, choose: (id: string | undefined) => void] {
  const [{ workspace }, change] = useListState(rootSearch);
  return [workspace, (id) => change({ workspace: id } as Partial<RootSearch>)];
}
