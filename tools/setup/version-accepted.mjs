/**
 * Finds the version in what a program prints when it is asked: the first `1.2.3`, because etcd and kubectl print
 * the versions of Go and of Kustomize below their own.
 * @param {string} output
 * @returns {string | undefined} without `v` and without build metadata (`+k3s1`); a suffix (`-rc.1`) stays
 */
export function parseVersion(output) {
  return /(?<![\d.])\d+\.\d+\.\d+(?!\.?\d)(?:-[0-9A-Za-z.-]*[0-9A-Za-z])?/.exec(output)?.[0];
}

/**
 * Whether a version lies in a range. Previews are never accepted: nobody measured them. Suffixes of distributors
 * (`-eks-1234567`) are.
 * @param {string} version - as `parseVersion` returns it
 * @param {{ from: string, below: string }} range - from is included, below is not
 */
export function isAccepted(version, range) {
  if (/-(?:alpha|beta|rc|preview|dev)/i.test(version)) return false;
  return compare(version, range.from) >= 0 && compare(version, range.below) < 0;
}

/**
 * @param {string} left
 * @param {string} right
 * @returns {number} below zero when left is older; suffixes do not count
 */
function compare(left, right) {
  const [lefts, rights] = [numbersOf(left), numbersOf(right)];
  const differing = lefts.findIndex((part, index) => part !== rights[index]);
  return differing === -1 ? 0 : (lefts[differing] ?? 0) - (rights[differing] ?? 0);
}

/** @param {string} version */
const numbersOf = (version) => (version.split('-')[0] ?? '').split('.').map(Number);
