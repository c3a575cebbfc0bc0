// Compares the text that Sluice reads from documents with what an independent program reads: word-F1 by format.
// Usage: node scripts/formats.mjs FOLDER...; needs a build, and from Debian: pandoc, python3, poppler-utils, xlsx2csv.
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { readDocument } from '../dist/modules/ingest/knowledge/formats/read-document.js';

const run = promisify(execFile);
const options = { maxBuffer: 256 * 1024 * 1024, timeout: 60_000 };
const python = `
import email, email.policy, re, sys, html
m = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)
def texts(p):
    if p.is_attachment(): return []
    kind = p.get_content_type()
    if kind == 'multipart/alternative':
        parts = list(p.iter_parts())
        best = [q for q in parts if q.get_content_type() == 'text/html'] or parts[-1:]
        return texts(best[0]) if best else []
    if p.is_multipart(): return [t for q in p.get_payload() for t in texts(q)]
    if not kind.startswith('text/'): return []
    t = p.get_content()
    if kind == 'text/html':
        t = html.unescape(re.sub(r'<[^>]*>', ' ', re.sub(r'(?is)<(script|style).*?</\\\\1>', ' ', t)))
    return [t]
t = ' '.join(texts(m))
def line(name):
    v = m[name.lower()]
    return f'{name}: {v}' if v else ''
print(line('Subject'), t)
`;
/** No program of Debian reads slides as text, so this one is Python's XML and ZIP readers. */
const slides = `
import posixpath, re, sys, zipfile, xml.etree.ElementTree as T
z = zipfile.ZipFile(sys.argv[1])
A = '{http://schemas.openxmlformats.org/drawingml/2006/main}'
P = '{http://schemas.openxmlformats.org/presentationml/2006/main}'
R = '{http://schemas.openxmlformats.org/officeDocument/2006/relationships}'
def rels(part):
    d, b = posixpath.split(part)
    try: t = T.fromstring(z.read(f'{d}/_rels/{b}.rels'))
    except KeyError: return []
    place = lambda e: posixpath.normpath(posixpath.join('/' + d, e.get('Target')))[1:]
    return [(e.get('Id'), e.get('Type').split('/')[-1], place(e)) for e in t if e.get('TargetMode') != 'External']
def texts(part, left):
    t = T.fromstring(z.read(part))
    for sp in list(t.iter(P + 'sp')):
        ph = sp.find('.//' + P + 'ph')
        if ph is not None and ph.get('type') in left: sp.clear()
    for p in t.iter(A + 'p'):
        print(''.join(e.text or '' for e in p.iter(A + 't')))
main = 'ppt/presentation.xml'
by = {i: t for i, _, t in rels(main)}
repeated = ('sldNum', 'dt', 'ftr', 'hdr')
for s in T.fromstring(z.read(main)).iter(P + 'sldId'):
    part = by[s.get(R + 'id')]
    texts(part, repeated)
    for _, kind, target in rels(part):
        if kind in ('notesSlide', 'diagramData'): texts(target, repeated)
`;
/** Rows in the form that a knowledge base gives them: each value behind the name of its column. */
const rows = `
import csv, io, subprocess, sys
command = ['xlsx2csv', '--all', '-i', sys.argv[1]]
out = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()
header = None
for line in csv.reader(io.StringIO(out)):
    if len(line) == 1 and line[0].startswith('-------- '):
        header = None
    elif header is None and any(line):
        header = line
    elif any(line):
        print('; '.join(f'{header[i] if i < len(header) else ""}: {v}' for i, v in enumerate(line) if v))
`;
const judges = {
  '.rtf': (file) => run('pandoc', ['-f', 'rtf', '-t', 'plain', '--wrap=none', file], options),
  '.eml': (file) => run('python3', ['-c', python, file], options),
  '.pdf': (file) => run('pdftotext', ['-q', file, '-'], options),
  '.pptx': (file) => run('python3', ['-c', slides, file], options),
  '.xlsx': (file) => run('python3', ['-c', rows, file], options),
  '.docx': (file) => run('pandoc', ['-t', 'plain', '--wrap=none', file], options),
  '.odt': (file) => run('pandoc', ['-t', 'plain', '--wrap=none', file], options),
  '.epub': (file) => run('pandoc', ['-t', 'plain', '--wrap=none', file], options),
};

const results = new Map();
for (const folder of process.argv.slice(2)) {
  for await (const file of filesIn(folder)) await compare(file);
}
for (const [format, found] of [...results].sort()) {
  const scores = found.map(({ score }) => score).sort((one, other) => one - other);
  const median = scores[Math.floor(scores.length / 2)] ?? 0;
  const share = scores.filter((score) => score >= 0.95).length;
  console.log(
    `${format}: ${scores.length} files, median word-F1 ${median.toFixed(3)}, ${share} of them at least .95`,
  );
  for (const { file, score } of found.filter((one) => one.score < 0.8))
    console.log(`  ${score.toFixed(2)} ${file}`);
}

async function* filesIn(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) yield join(entry.parentPath, entry.name);
  }
}

async function compare(file) {
  const bytes = await readFile(file);
  const isMail = extname(file) === '.txt' && /^(?:[\w-]+:|From )/.test(bytes.toString('latin1', 0, 200));
  const ending = isMail ? '.eml' : extname(file).toLowerCase();
  const judge = judges[ending];
  if (judge === undefined) return;
  const { signal } = new AbortController();
  const read = await readDocument({ name: `document${ending}`, bytes }, { signal });
  let expected;
  try {
    expected = (await judge(file)).stdout;
  } catch {
    return;
  }
  const text = read.kind === 'text' ? read.text : '';
  // The judge of messages prints the subject and the text.
  const own = ending === '.xlsx' ? text.replace(/^## .*$/gm, '') : text;
  const compared =
    ending === '.eml' ? text.replace(/^(?:- (?:From|To|Cc|Date)|Attachments): .*$/gm, '') : own;
  const [ours, theirs] = [wordsOf(compared), wordsOf(expected)];
  if (theirs.length < 5) return;
  const list = results.get(ending) ?? [];
  results.set(ending, [
    ...list,
    { file: `${file} ${read.kind === 'text' ? '' : (read.code ?? read.kind)}`, score: f1(ours, theirs) },
  ]);
}

function wordsOf(text) {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

function f1(ours, theirs) {
  const left = new Map();
  for (const word of theirs) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of ours) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    common += 1;
    left.set(word, count - 1);
  }
  return (2 * common) / (ours.length + theirs.length);
}
process.exit(0);
