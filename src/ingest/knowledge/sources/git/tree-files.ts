import { gitErrors } from './errors.ts';
import type { Packfile } from './packfile.ts';

export interface TreeFile {
  /** From the top of the repository, with slashes. */
  path: string;
  blob: string;
}

const maxFiles = 200_000;
const maxDepth = 64;
/** A few folders that name each other many times over are more than anybody could walk through. */
const maxFolders = 100_000;
const folderMode = '40000';
const fileModes = new Set(['100644', '100755', '100664']);

/** The files of a commit below a folder, by path. Links and submodules are left out. */
export async function listTree(
  pack: Packfile,
  commit: string,
  { folder }: { folder: string },
): Promise<TreeFile[]> {
  const text = (await pack.read(commit, 'commit'))?.toString('latin1') ?? '';
  const tree = /^tree ([0-9a-f]{40})\n/.exec(text)?.[1];
  if (tree === undefined) throw broken(`the commit ${commit} is missing`);
  const files: TreeFile[] = [];
  const wanted = folder.split('/').filter((segment) => segment !== '');
  await walk(pack, tree, { segments: [], wanted, files, folders: { count: 0 } });
  return files.toSorted((one, other) => (one.path < other.path ? -1 : 1));
}

interface Walk {
  segments: string[];
  wanted: string[];
  files: TreeFile[];
  folders: { count: number };
}

async function walk(pack: Packfile, tree: string, { segments, wanted, files, folders }: Walk): Promise<void> {
  folders.count += 1;
  if (folders.count > maxFolders) {
    throw gitErrors.raise.git_repository_too_large(`The commit has more than ${maxFolders} folders`);
  }
  await pack.breaks();
  if (segments.length > maxDepth) throw broken(`folders are nested more than ${maxDepth} deep`);
  const content = await pack.read(tree, 'tree');
  if (content === null) throw broken(`the folder ${segments.join('/')} is missing`);
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const end = content.indexOf(0, space);
    if (space < 0 || end < 0 || end + 21 > content.length) throw broken('a folder cannot be read');
    const mode = content.toString('latin1', at, space);
    const name = content.toString('utf8', space + 1, end);
    const id = content.toString('hex', end + 1, end + 21);
    at = end + 21;
    const below = wanted[segments.length];
    if (below !== undefined && below !== name) continue;
    const inner = [...segments, name];
    if (mode === folderMode) await walk(pack, id, { segments: inner, wanted, files, folders });
    else if (fileModes.has(mode) && inner.length > wanted.length)
      files.push({ path: inner.join('/'), blob: id });
    if (files.length > maxFiles) {
      throw gitErrors.raise.git_repository_too_large(`The commit has more than ${maxFiles} files`);
    }
  }
}

function broken(why: string): Error {
  return gitErrors.raise.git_pack_broken(`The repository cannot be read: ${why}`);
}
