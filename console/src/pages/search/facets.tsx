import { Button } from '@mantine/core';
import type { KnowledgeResultsOfAll } from '../../api/types.ts';
import { useListState } from '../../list-state.ts';
import { searchEverywhere } from './search.ts';

const titles: Record<string, string> = { base: 'Knowledge base', format: 'Format' };

/** How many of the found documents are where; a click narrows the search to them, another one widens it again. */
export function Facets({ facets }: { facets: KnowledgeResultsOfAll['facets'] }) {
  const [chosen, change] = useListState(searchEverywhere);
  return (
    <nav className="search-facets" aria-label="Narrow the search">
      {facets.map(({ field, values }) => {
        const picked = field === 'base' ? chosen.base : chosen.format;
        return values.length === 0 ? null : (
          <section key={field} aria-label={titles[field] ?? field}>
            <h2>{titles[field] ?? field}</h2>
            {values.map(({ value, label, documents }) => (
              <Button
                key={label}
                variant={picked === String(value) ? 'light' : 'subtle'}
                color={picked === String(value) ? undefined : 'gray'}
                size="compact-sm"
                aria-pressed={picked === String(value)}
                justify="space-between"
                fullWidth
                rightSection={<span className="num dim">{documents}</span>}
                onClick={() => change({ [field]: picked === String(value) ? undefined : String(value) })}
              >
                <span className="cut">{label}</span>
              </Button>
            ))}
          </section>
        );
      })}
    </nav>
  );
}
