// What `npm pack` needs beyond the files in Git: `prepack` builds Sluice and puts the inference runtime beside it,
// `postpack` takes the runtime away again.
//
// The runtime is packed instead of being a dependency, because onnxruntime-node has an install script that downloads
// libraries for graphics cards, and fails where only the registry can be reached. A checkout uses the one that npm has
// installed for development, where .npmrc and package.json keep that script from running.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'node_modules/onnxruntime-node');
const target = join(root, 'vendor/onnxruntime');

/** Each adds 10 to 18 MB to the package. */
const platforms = ['linux/x64', 'linux/arm64', 'darwin/arm64'];

/** The same library under a second name, which nothing loads. */
const isSecondName = (file) => /libonnxruntime\.\d+\.\d+\.\d+\.dylib$/.test(file);

await rm(join(root, 'vendor'), { recursive: true, force: true });
if (process.argv[2] !== 'clean') {
  const { status, message } = await build();
  if (status === 'failed') throw new Error(message);
  await vendorRuntime();
}

async function vendorRuntime() {
  const { name, version, license, main, dependencies } = JSON.parse(
    await readFile(join(source, 'package.json'), 'utf8'),
  );
  await mkdir(target, { recursive: true });
  await cp(join(source, 'dist'), join(target, 'dist'), { recursive: true });
  for (const platform of platforms) {
    const folder = join('bin/napi-v6', platform);
    await cp(join(source, folder), join(target, folder), {
      recursive: true,
      filter: (file) => !isSecondName(file),
    });
  }
  await cp(join(source, 'README.md'), join(target, 'README.md'));
  const common = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).dependencies[
    'onnxruntime-common'
  ];
  if (common !== dependencies['onnxruntime-common']) {
    throw new Error(
      `package.json must depend on onnxruntime-common ${dependencies['onnxruntime-common']}, as ${name} does`,
    );
  }
  await writeFile(
    join(target, 'package.json'),
    `${JSON.stringify({ name, version, license, main }, null, 2)}\n`,
  );
}
