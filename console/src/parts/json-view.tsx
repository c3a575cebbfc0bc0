import { CopyButton } from './command.tsx';

/** JSON as it is, folded lines, copyable. Text only: what a tenant sent is never read as markup. */
export function JsonView({ value, label = 'Copy as JSON' }: { value: unknown; label?: string }) {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  return (
    <div className="json">
      <CopyButton value={text} label={label} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
