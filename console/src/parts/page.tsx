import { Skeleton } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { Icon } from './icons.tsx';
import { Problem } from './problem.tsx';
import { To } from './to.tsx';

interface PageProps {
  title: string;
  /** Beside the title: a chip and since when. */
  state?: ReactNode;
  /** Buttons, the most likely one first. */
  actions?: ReactNode;
  /** The way up, without the page itself: `[{ label: 'Jobs', to: '/jobs' }]`. */
  breadcrumbs?: readonly { label: string; to: string }[];
  /** One sentence under the title. */
  sentence?: ReactNode;
  children: ReactNode;
}

export function Page({ title, state, actions, breadcrumbs, sentence, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <div className="page">
      {breadcrumbs === undefined ? null : <Breadcrumbs crumbs={breadcrumbs} />}
      <header className="page-head">
        <div className="page-title">
          <h1>{title}</h1>
          {state}
        </div>
        {actions === undefined ? null : <div className="page-actions">{actions}</div>}
      </header>
      {sentence === undefined ? null : <div className="page-sentence">{sentence}</div>}
      {children}
    </div>
  );
}

interface UnreadPageProps extends Pick<PageProps, 'title' | 'breadcrumbs'> {
  /** Null while the first load is in progress. */
  error: Error | null;
  retry: () => void;
}

/** A page whose subject is still loading, or could not be loaded. */
export function UnreadPage({ error, retry, ...page }: UnreadPageProps) {
  return (
    <Page {...page}>
      {error === null ? <Skeleton height={120} /> : <Problem error={error} retry={retry} />}
    </Page>
  );
}

/** A framed part of a page with a heading of its own. */
export function Panel(props: { title: string; aside?: ReactNode; children: ReactNode; className?: string }) {
  return (
    <section className={`panel ${props.className ?? ''}`} aria-label={props.title}>
      <div className="panel-head">
        <h2>{props.title}</h2>
        {props.aside}
      </div>
      {props.children}
    </section>
  );
}

function Breadcrumbs({ crumbs }: { crumbs: readonly { label: string; to: string }[] }) {
  return (
    <nav className="crumbs" aria-label="Breadcrumbs">
      {crumbs.map(({ label, to }) => (
        <span key={to}>
          <To href={to}>{label}</To>
          <Icon name="chevronRight" size={12} />
        </span>
      ))}
    </nav>
  );
}
