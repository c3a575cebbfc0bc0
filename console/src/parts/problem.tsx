import { Button } from '@mantine/core';
import { ApiProblem } from '../api/client.ts';
import { CopyButton } from './command.tsx';
import { Icon } from './icons.tsx';
import { sentenceOf } from './notify.ts';

interface ProblemProps {
  error: unknown;
  /** Offered as "Try again". */
  retry?: () => void;
  /** Above what is still shown: the numbers below are older than they should be. */
  isStale?: boolean;
}

/** What went wrong as a sentence, the code beside it in small type, the whole as JSON for tickets. */
export function Problem({ error, retry, isStale = false }: ProblemProps) {
  const known = error instanceof ApiProblem ? error : null;
  return (
    <div className="problem" role="alert">
      <Icon name="alert" />
      <div className="problem-text">
        <p>
          {sentenceOf(error)}
          {isStale ? ' The data below is older.' : ''}
        </p>
        <div className="problem-aside">
          <code>{known?.code ?? 'unexpected'}</code>
          {known?.requestId ? <code>request {known.requestId}</code> : null}
          <CopyButton value={problemJson(error)} label="Copy as JSON" />
        </div>
      </div>
      {retry === undefined ? null : (
        <Button variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

function problemJson(error: unknown): string {
  const content =
    error instanceof ApiProblem
      ? { status: error.status, code: error.code, ...error.document }
      : { message: sentenceOf(error) };
  return JSON.stringify(
    { ...content, page: globalThis.location?.pathname, at: new Date().toISOString() },
    null,
    2,
  );
}
