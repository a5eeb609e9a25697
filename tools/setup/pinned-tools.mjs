/**
 * The programs that an embedded hub and the tests run, and which versions of them will do.
 *
 * `version` is what is downloaded or built (the Go modules in `tools/go/` pin the same). `accepts` is wider: it is
 * what may come from the person's own machine, because a patch release is not a reason to build for minutes.
 *
 * @typedef {'nats-server' | 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kubectl' | 'helm'} ToolName
 * @typedef {object} PinnedTool
 * @property {ToolName} name - also the name of its file, without `.exe`
 * @property {string} version - downloaded or built, without `v`
 * @property {{ from: string, below: string }} accepts - versions that may come from the environment or PATH
 * @property {string} env - environment variable with an explicit path
 * @property {readonly string[]} versionArgs - arguments that make it print its version
 * @property {ReleaseSource} release
 * @property {GoSource} go
 *
 * @typedef {object} ReleaseSource
 * @property {string} baseUrlEnv - environment variable that replaces `baseUrl` (a mirror, a test)
 * @property {string} baseUrl
 * @property {'archive' | 'summed-archive' | 'binary'} form - an archive beside a SHA256SUMS file, one beside its .sha256sum, or a
 *   bare binary beside its .sha256
 * @property {readonly string[]} platforms - operating systems that upstream publishes for, in Go's words
 *
 * @typedef {object} GoSource
 * @property {string} folder - below `tools/go/`
 * @property {string} package
 * @property {string} ldflags
 * @property {number} buildSeconds - measured with cold caches on two shared cores
 */

const kubernetesVersion = '1.36.3';
const [kubernetesMajor, kubernetesMinor] = kubernetesVersion.split('.');

// Without these the server believes to be v0.0.0 and switches its features and compatibility checks by that.
const kubernetesLdflags = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version']
  .flatMap((path) => [
    `-X ${path}.gitVersion=v${kubernetesVersion}`,
    `-X ${path}.gitMajor=${kubernetesMajor}`,
    `-X ${path}.gitMinor=${kubernetesMinor}`,
    `-X ${path}.gitTreeState=clean`,
  ])
  .join(' ');

/**
 * @param {'kube-apiserver' | 'kube-controller-manager' | 'kubectl'} name
 * @param {{ buildSeconds: number, versionArgs: string[], platforms: string[] }} particulars
 * @returns {PinnedTool}
 */
function kubernetesTool(name, { buildSeconds, versionArgs, platforms }) {
  return {
    name,
    version: kubernetesVersion,
    accepts: { from: '1.36.0', below: '1.37.0' },
    env: `ROLLCALL_${name.toUpperCase().replaceAll('-', '_')}`,
    versionArgs,
    release: {
      baseUrlEnv: 'ROLLCALL_KUBERNETES_RELEASES',
      baseUrl: 'https://dl.k8s.io/release',
      form: 'binary',
      platforms,
    },
    go: {
      folder: 'kubernetes',
      package: `k8s.io/kubernetes/cmd/${name}`,
      ldflags: kubernetesLdflags,
      buildSeconds,
    },
  };
}

/** @type {readonly PinnedTool[]} */
export const pinnedTools = [
  {
    name: 'nats-server',
    version: '2.15.2',
    // 2.15.2 is the oldest server that the services accept (acknowledged means kept).
    accepts: { from: '2.15.2', below: '3.0.0' },
    env: 'ROLLCALL_NATS_SERVER',
    versionArgs: ['--version'],
    release: {
      baseUrlEnv: 'ROLLCALL_NATS_SERVER_RELEASES',
      baseUrl: 'https://github.com/nats-io/nats-server/releases/download',
      form: 'archive',
      platforms: ['linux', 'darwin', 'windows'],
    },
    go: {
      folder: 'nats-server',
      package: 'github.com/nats-io/nats-server/v2',
      ldflags: '',
      buildSeconds: 40,
    },
  },
  {
    name: 'etcd',
    version: '3.6.16',
    accepts: { from: '3.6.0', below: '3.7.0' },
    env: 'ROLLCALL_ETCD',
    versionArgs: ['--version'],
    release: {
      baseUrlEnv: 'ROLLCALL_ETCD_RELEASES',
      baseUrl: 'https://github.com/etcd-io/etcd/releases/download',
      form: 'archive',
      platforms: ['linux', 'darwin', 'windows'],
    },
    go: { folder: 'etcd', package: 'go.etcd.io/etcd/server/v3', ldflags: '', buildSeconds: 30 },
  },
  kubernetesTool('kube-apiserver', { buildSeconds: 240, versionArgs: ['--version'], platforms: ['linux'] }),
  kubernetesTool('kube-controller-manager', {
    buildSeconds: 50,
    versionArgs: ['--version'],
    platforms: ['linux'],
  }),
  kubernetesTool('kubectl', {
    buildSeconds: 20,
    versionArgs: ['version', '--client'],
    platforms: ['linux', 'darwin', 'windows'],
  }),
];

/**
 * What only tests run: the charts are proven by the real thing.
 * @type {readonly PinnedTool[]}
 */
export const testTools = [
  {
    name: 'helm',
    version: '4.3.1',
    accepts: { from: '4.0.0', below: '5.0.0' },
    env: 'ROLLCALL_HELM',
    versionArgs: ['version', '--short'],
    release: {
      baseUrlEnv: 'ROLLCALL_HELM_RELEASES',
      baseUrl: 'https://get.helm.sh',
      form: 'summed-archive',
      platforms: ['linux', 'darwin', 'windows'],
    },
    go: {
      folder: 'helm',
      package: 'helm.sh/helm/v4/cmd/helm',
      ldflags: '-X helm.sh/helm/v4/internal/version.version=v4.3.1',
      buildSeconds: 60,
    },
  },
];

/** Operating system and processor in Go's words, which all five projects use in their release names. */
export const goPlatform = {
  os: process.platform === 'win32' ? 'windows' : process.platform,
  arch: process.arch === 'x64' ? 'amd64' : process.arch,
};

/**
 * @param {string} name
 * @returns {string} the file name of a program on this operating system
 */
export const executableName = (name) => (process.platform === 'win32' ? `${name}.exe` : name);
