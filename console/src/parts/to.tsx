import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import { readSearch } from '../list-state.ts';

interface ToProps {
  /** A path of the console with its query: `/jobs?status=failed`. */
  href: string;
  className?: string;
  title?: string;
  onClick?: () => void;
  /** Marks what Enter on a row of a list opens. */
  isRowOpener?: boolean;
  children: ReactNode;
}

/** A link by its whole address; the router's own Link wants path and query apart. */
export function To({ href, isRowOpener, children, ...rest }: ToProps) {
  const { path, search } = split(href);
  return (
    // The addresses are made of data, so the router's types cannot check them; its tests visit them.
    <Link to={path as string} search={search as never} data-row-open={isRowOpener || undefined} {...rest}>
      {children}
    </Link>
  );
}

/** The same for code: `const go = useGo(); go('/items/' + jobId)`. */
export function useGo(): (href: string) => void {
  const navigate = useNavigate();
  return useCallback(
    (href: string) => {
      const { path, search } = split(href);
      void navigate({ to: path as string, search: search as never });
    },
    [navigate],
  );
}

function split(href: string): { path: string; search: Record<string, string> } {
  const [path = '/', query = ''] = href.split('?');
  return { path, search: readSearch(query) };
}
