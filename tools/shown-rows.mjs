/**
 * @typedef {import('./count-tests.mjs').TestReport} TestReport
 * @typedef {object} Claim - a test, or a group of them, that says which rows of the parity list it shows
 * @property {readonly string[]} rows - their ids
 * @property {string} title - without the ids
 * @property {string} ending - the ids as they stand in the title
 * @property {string} file - relative to the repository
 */

const row = String.raw`(?:CN|KA|OC|RO|FL|X)-\d+`;
const between = String.raw`(?:, |\] \[)`;
/** A title that ends in ids of rows, `'… [CN-1]'`, `'… [CN-1, OC-4]'` or `'… [CN-1] [OC-4]'`. */
const claim = new RegExp(
  String.raw`(?<quote>['"])(?<title>(?:(?!\k<quote>)[^\\\n]|\\.)*?) \[(?<rows>${row}(?:${between}${row})*)\]\k<quote>`,
  'g',
);

/**
 * @param {string} file
 * @param {string} source
 * @returns {Claim[]} in the order of the file
 */
export function claimsIn(file, source) {
  return [...source.matchAll(claim)].map(({ groups = {} }) => ({
    rows: (groups['rows'] ?? '').split(new RegExp(between)),
    title: (groups['title'] ?? '').replaceAll(/\\(.)/g, '$1'),
    ending: `[${groups['rows'] ?? ''}]`,
    file,
  }));
}

/**
 * The rows that a whole run of the tests did not show, although a test says that it does: it was skipped, it failed, or its file
 * did not run.
 * @param {readonly Claim[]} claims - of all test sources
 * @param {TestReport | undefined} report - undefined when the test runner wrote none
 * @param {(path: string) => string} inRepository - the path of a file of the report, relative to the repository
 * @returns {string[]} a line for each row and test
 */
export function rowsNotShown(claims, report, inRepository) {
  const testsOf = new Map(
    report?.testResults.map(({ name, assertionResults }) => [inRepository(name), assertionResults]),
  );
  return claims.flatMap(({ rows, title, ending, file }) => {
    const pattern = titlePattern(title, ending);
    const results = (testsOf.get(file) ?? []).filter(({ title: own = '', ancestorTitles = [] }) =>
      [own, ...ancestorTitles].some((text) => pattern.test(text)),
    );
    if (results.length > 0 && results.every(({ status }) => status === 'passed')) return [];
    const happened = results.some(({ status }) => status === 'failed') ? 'failed' : 'did not run';
    return rows.map((id) => `${id} is not shown: "${title}" of ${file} ${happened}`);
  });
}

/**
 * Tables of tests fill in `$name` and `%s`.
 * @param {string} title
 * @param {string} ending
 */
function titlePattern(title, ending) {
  const escaped = `${title} ${ending}`.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll(/\\\$[\w.\\]+|%[a-z]/g, '.*')}$`, 's');
}
