import type { Upload } from '../../api/types.ts';
import { count } from '../../parts/number.ts';
import { Panel } from '../../parts/page.tsx';

/** Warnings about rows that are accepted. */
export function UploadWarnings({ upload }: { upload: Upload }) {
  if (upload.warnings.length === 0) return null;
  return (
    <Panel title="Worth knowing">
      <ul className="notes">
        {upload.warnings.map(({ code, message, count: rows }) => (
          <li key={code}>
            {message} <span className="dim small num">{count(rows)} ×</span>{' '}
            <code className="dim">{code}</code>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
