import { Link, useRouter } from '@tanstack/react-router';
import { Page } from '../parts/page.tsx';
import { Problem } from '../parts/problem.tsx';

/** When a page itself breaks, or its code cannot be loaded because a newer console has been deployed. */
export function RouteProblem({ error, reset }: { error: unknown; reset?: () => void }) {
  const router = useRouter();
  const isOldChunk = error instanceof TypeError && /dynamically imported module/i.test(error.message);
  const retry = () => {
    if (isOldChunk) location.reload();
    reset?.();
    void router.invalidate();
  };
  const shown = isOldChunk
    ? new Error('This page could not be loaded. The console may have been updated; reload the page.')
    : error;
  return (
    <Page title="Something went wrong">
      <Problem error={shown} retry={retry} />
    </Page>
  );
}

export function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        No page has this address. <Link to="/">Overview</Link> is a good place to start.
      </p>
    </Page>
  );
}
