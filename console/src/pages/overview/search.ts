import { oneOf, searchParser } from '../../list-state.ts';

export interface OverviewSearch {
  series: 'jobs' | 'rows';
}

export const overviewSearch = searchParser<OverviewSearch>({
  series: oneOf(['jobs', 'rows']),
});
