import path from 'node:path';
import { importsOf, isProduct, type SourceFile } from './tidy-rules.ts';

const mostFiles = 20;

/** A folder that wants rooms: so many files that nobody finds the one that is meant. */
export function crowdedFolders(files: readonly SourceFile[], exceptions: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const { path: file } of files.filter(isProduct)) {
    const folder = path.posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([folder, count]) => count > mostFiles && !exceptions.includes(folder))
    .map(
      ([folder, count]) => `${folder} has ${count} production files; at most ${mostFiles}. Give it rooms.`,
    );
}

/** Folders beside each other that import each other at run time are one folder in disguise. */
export function folderCycles(files: readonly SourceFile[]): string[] {
  const edges = new Map<string, Map<string, string>>();
  for (const file of files.filter(isProduct)) {
    for (const { target, typeOnly } of importsOf(file)) {
      const pair = target === null || typeOnly ? null : siblingFolders(file.path, target);
      if (pair === null) continue;
      const known = edges.get(pair.from) ?? new Map<string, string>();
      edges.set(pair.from, known.set(pair.to, `${file.path} imports ${target}`));
    }
  }
  return [...edges].flatMap(([from, targets]) =>
    [...targets]
      .filter(([to]) => reaches(edges, to, from))
      .map(([to, example]) => `${from} and ${to} import each other: ${example}.`),
  );
}

/** The two folders under one parent through which an import leads; null when one file lies above the other. */
function siblingFolders(file: string, target: string): { from: string; to: string } | null {
  const [own, other] = [file.split('/'), target.split('/')];
  const depth = own.findIndex((part, at) => part !== other[at]);
  if (depth >= own.length - 1 || depth >= other.length - 1) return null;
  return { from: own.slice(0, depth + 1).join('/'), to: other.slice(0, depth + 1).join('/') };
}

function reaches(edges: Map<string, Map<string, string>>, from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const folder of seen) {
    if (folder === to) return true;
    for (const next of edges.get(folder)?.keys() ?? []) seen.add(next);
  }
  return false;
}
