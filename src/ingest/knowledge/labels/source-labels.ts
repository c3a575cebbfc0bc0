import { labelRules, labelsOfForm } from './form.ts';
import { foundLabels } from './found-labels.ts';
import type { Labels } from './types.ts';

/** What a document says of itself, and what the rules of its source say of it, which counts more. */
export function labelsOf(
  settings: Readonly<Record<string, unknown>>,
  { uri, metadata = {} }: { uri: string; metadata?: Readonly<Record<string, unknown>> | undefined },
): Labels {
  const labels = foundLabels(metadata);
  const path = pathOf(uri);
  for (const { path_prefix: prefix, ...rule } of labelRules.parse(settings.rules) ?? []) {
    if (!path.startsWith(prefix.replace(/^\//, ''))) continue;
    const ruled = labelsOfForm(rule);
    Object.assign(labels.metadata, ruled.metadata);
    labels.allow = ruled.allow ?? labels.allow;
  }
  return labels;
}

/** Without a slash at its start: of a page below its host, of a file below its source. */
function pathOf(uri: string): string {
  const path =
    /^https?:/i.test(uri) && URL.canParse(uri) ? decoded(new URL(uri).pathname) : uri.replace(/^\w+:/, '');
  return path.replace(/^\/+/, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
