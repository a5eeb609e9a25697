import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findBinary } from '../../../cli/up/binaries.ts';
import { pinnedTools } from '../../../tools/setup/pinned-tools.mjs';
import { rollcallVersion } from '@rollcall/shared/service';
import { docker, dockerHost, hasImage } from './engine.ts';
import { kept } from './places.ts';
import { run, shell, step } from './run.ts';

const versionOf = (name: string): string => pinnedTools.find((tool) => tool.name === name)?.version ?? '';
const kubernetes = versionOf('kube-apiserver');
const searchPath = 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/** Another version of what is done below makes the images anew. */
const recipe = 1;

/** Of what is not ours. */
export const baseImages = {
  pause: 'registry.k8s.io/pause:3.10.1',
  dns: 'registry.k8s.io/coredns/coredns:v1.15.0',
  busybox: 'busybox:1.35',
  nats: `nats:${versionOf('nats-server')}`,
} as const;

interface BaseImage {
  readonly name: string;
  /** Beside the recipe, what it is made of. */
  readonly of: string;
  /** Lines of a Dockerfile. */
  readonly settings: readonly string[];
  /** @returns the folder that becomes the image's only layer */
  fill(folder: string): Promise<string>;
}

/** An image of one program, where the published one has it. */
function ofProgram(name: string, file: string, path: string, ...settings: string[]): BaseImage {
  return {
    name,
    of: file,
    settings: [`ENTRYPOINT ["${path}"]`, ...settings],
    fill: (folder) =>
      shell(
        'mkdir -p "$1$3" "$1/tmp"; chmod 1777 "$1/tmp"; cp "$2" "$1$4"',
        folder,
        file,
        dirname(path),
        path,
      ).then(() => folder),
  };
}

/** Debian with Node and npm, in which the product is built. */
const forBuilds: BaseImage = {
  name: 'node:24-bookworm-slim',
  of: process.version,
  settings: ['CMD ["node"]', `ENV NODE_EXTRA_CA_CERTS=${certificates}`],
  async fill() {
    const folder = join(kept, 'bookworm');
    if (!existsSync(join(folder, 'complete')))
      await shell(
        'rm -rf "$1"; debootstrap --variant=minbase bookworm "$1" >&2; touch "$1/complete"',
        folder,
      );
    await shell(
      `cp "$2" "$1/usr/local/bin/node"
       rm -rf "$1/usr/local/lib/node_modules"; mkdir -p "$1/usr/local/lib/node_modules" "$1/etc/ssl/certs"
       npm=$(readlink -f "$(command -v npm)")
       cp -a "\${npm%/bin/npm-cli.js}" "$1/usr/local/lib/node_modules/npm"
       ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"
       cp -L ${certificates} "$1${certificates}"
       rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*`,
      folder,
      process.execPath,
    );
    return folder;
  },
};

/** Node, the libraries that it asks for, and no shell. */
const toRun: BaseImage = {
  name: 'gcr.io/distroless/nodejs24-debian12:nonroot',
  of: process.version,
  settings: [
    'ENTRYPOINT ["/nodejs/bin/node"]',
    'USER 65532',
    'WORKDIR /home/nonroot',
    searchPath,
    `ENV SSL_CERT_FILE=${certificates}`,
  ],
  async fill(folder) {
    await shell(
      `cd "$1"; mkdir -p nodejs/bin lib/x86_64-linux-gnu lib64 usr/lib etc/ssl/certs tmp home/nonroot root var proc sys dev
       cp "$2/usr/local/bin/node" nodejs/bin/node
       for library in $(ldd nodejs/bin/node | grep -o '/lib[^ ]*x86_64-linux-gnu/[^ ]*'); do
         cp -L "$2$library" lib/x86_64-linux-gnu/ 2>/dev/null || cp -L "$2/usr$library" lib/x86_64-linux-gnu/
       done
       for library in libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
         cp -L "$2/lib/x86_64-linux-gnu/$library" lib/x86_64-linux-gnu/
       done
       cp -L "$2/lib64/ld-linux-x86-64.so.2" lib64/
       cp "$2${certificates}" etc/ssl/certs/
       chown 65532:65532 home/nonroot; chmod 700 home/nonroot; chmod 1777 tmp`,
      folder,
      join(kept, 'bookworm'),
    );
    const users = [
      'root:x:0:0:root:/root:/sbin/nologin',
      'nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin',
      'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin',
    ];
    const groups = ['root:x:0:', 'nobody:x:65534:', 'tty:x:5:', 'staff:x:50:', 'nonroot:x:65532:'];
    writeFileSync(join(folder, 'etc/passwd'), `${users.join('\n')}\n`);
    writeFileSync(join(folder, 'etc/group'), `${groups.join('\n')}\n`);
    writeFileSync(join(folder, 'etc/nsswitch.conf'), 'hosts: files dns\n');
    return folder;
  },
};

/** What pods of tests have for a shell. */
const busybox: BaseImage = {
  name: baseImages.busybox,
  of: 'the package busybox-static',
  settings: ['CMD ["sh"]', searchPath],
  async fill(folder) {
    await shell(
      `mkdir -p "$1/bin" "$1/tmp" "$1/etc"; chmod 1777 "$1/tmp"; cp "$(command -v busybox)" "$1/bin/busybox"
       for name in $(busybox --list); do [ "$name" = busybox ] || ln -s busybox "$1/bin/$name"; done
       echo 'root:x:0:0:root:/root:/bin/sh' > "$1/etc/passwd"`,
      folder,
    );
    return folder;
  },
};

const pause: BaseImage = {
  ...busybox,
  name: baseImages.pause,
  settings: ['ENTRYPOINT ["/bin/busybox", "sleep", "infinity"]', 'USER 65535:65535'],
};

/** Found on the path in its own image, whatever it stands in. */
const nats = ofProgram(
  baseImages.nats,
  findBinary('nats-server'),
  '/nats-server',
  'CMD ["--config", "nats-server.conf"]',
  `${searchPath}:/`,
);

async function make({ name, of, settings, fill }: BaseImage): Promise<void> {
  const madeOf = createHash('sha256')
    .update(`${recipe} ${of} ${settings.join(' ')}`)
    .digest('hex');
  if (await hasImage(name, madeOf)) return;
  await step(`making ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-image-'));
    try {
      const filled = await fill(folder);
      const changes = [...settings, `LABEL made-of="${madeOf}"`].map((line) => `--change=${line}`);
      await shell(
        'folder=$1 host=$2 image=$3; shift 3; tar -C "$folder" --numeric-owner -c . | docker --host "$host" import "$@" - "$image"',
        filled,
        dockerHost,
        name,
        ...changes,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/**
 * Makes what the product's images and a node begin with, under the names that the Dockerfile and the charts have for it: from Debian's
 * packages and the programs that set-up built. So nothing is pulled, and who has a network gets the published ones by the same names.
 * @param coredns - the program
 */
export async function makeBaseImages(coredns: string): Promise<void> {
  mkdirSync(kept, { recursive: true });
  const servers = (['kube-apiserver', 'kube-controller-manager'] as const).map((name) =>
    ofProgram(`registry.k8s.io/${name}:v${kubernetes}`, findBinary(name), `/usr/local/bin/${name}`),
  );
  const etcd = `registry.k8s.io/etcd:${versionOf('etcd')}-0`;
  const kubectl = `registry.k8s.io/kubectl:v${versionOf('kubectl')}`;
  for (const image of [
    forBuilds,
    toRun,
    busybox,
    pause,
    nats,
    ofProgram(baseImages.dns, coredns, '/coredns'),
    ofProgram(etcd, findBinary('etcd'), '/usr/local/bin/etcd'),
    ofProgram(kubectl, findBinary('kubectl'), '/bin/kubectl'),
    ...servers,
  ])
    await make(image);
}

/** The product's own images, of the sources as they are. @returns their names */
export async function buildProductImages(): Promise<string[]> {
  const root = join(import.meta.dirname, '..', '..', '..');
  const sources = await shell(
    'cd "$1"; git ls-files -z --cached --others --exclude-standard -- . ":!tests" ":!bench" ":!docs" | sort -z | xargs -0 sha256sum | sha256sum',
    root,
  );
  const madeOf = `${recipe} ${process.version} ${sources.slice(0, 64)}`;
  const images = ['rollcall', 'rollcall-agent', 'rollcall-hub'].map((name) => `${name}:${rollcallVersion}`);
  const isThere = await Promise.all(images.map((image) => hasImage(image, madeOf)));
  if (isThere.includes(false)) {
    const script = join(root, 'tools', 'images.mjs');
    const flags = ['--network', 'host', '--label', `made-of=${madeOf}`];
    await step(`building ${images.join(', ')}`, () =>
      run('env', `DOCKER_HOST=${dockerHost}`, process.execPath, script, ...flags),
    );
    // What was built before has no name any more; a gigabyte each time.
    await docker('image', 'prune', '--force');
  }
  return images;
}

/** Writes images into a file that nodes read. */
export async function saveImages(file: string, names: readonly string[]): Promise<void> {
  await docker('save', '--output', file, ...names);
}
