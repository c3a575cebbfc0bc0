/** An operation as the document names it: its method in lower case and its path with `{parameters}`. */
export interface OperationPlace {
  method: string;
  path: string;
}

const verbs: Record<string, string> = {
  get: 'get',
  post: 'create',
  put: 'put',
  patch: 'update',
  delete: 'delete',
};

/**
 * A name that generated clients can use, from the place alone: `getJobs`, `getJob`, `createWorkspace`, `pauseJob`.
 * `isCollection` tells whether the path can be read as well: posting there creates, posting elsewhere does something.
 */
export function operationIdOf({ method, path }: OperationPlace, isCollection: boolean): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'api');
  const names = parts.flatMap((part, at) => {
    if (isParameter(part)) return [];
    const name = spokenNames[part] ?? part;
    return [isParameter(parts[at + 1] ?? '') ? singular(name) : name];
  });
  const last = names.at(-1) ?? '';
  const others = names.slice(0, -1);
  if (method !== 'post') return camelCase([verbs[method] ?? method, ...names]);
  const creates = others.length === 0 || (isCollection && singular(last) !== last);
  return camelCase(creates ? ['create', ...others, singular(last)] : [last, ...others]);
}

/** Paths whose word is not what a name should say. */
const spokenNames: Record<string, string> = { knowledge: 'knowledge-bases' };

function isParameter(part: string): boolean {
  return part.startsWith('{');
}

function singular(word: string): string {
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.endsWith('ss') || !word.endsWith('s')) return word;
  return word.slice(0, -1);
}

function camelCase(names: string[]): string {
  const words = names.flatMap((name) => name.split(/[^A-Za-z0-9]+/)).filter(Boolean);
  return words
    .map((word, at) => (at === 0 ? word.toLowerCase() : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('');
}
