/** Paths are read by several servers one after the other: what two of them could read in two ways goes to none. */
const longestPath = 8192;

/**
 * Why a path is not passed on to a member's API server.
 * @param path - with its query, as it stands in the request
 * @returns undefined for one that is
 */
export function refusedPath(path: string): string | undefined {
  if (!path.startsWith('/')) return 'it must begin with a slash';
  if (path.length > longestPath) return `it is longer than ${longestPath} characters`;
  if (/[^\u0021-\u007e]/.test(path) || /[#\\]/.test(path)) return 'it has characters that no URL has';
  const [place = ''] = path.split('?');
  if (/%(2f|5c|00|2e)/i.test(place)) return 'it has an encoded slash, backslash or dot';
  if (place.includes('//')) return 'it has two slashes together';
  if (place.split('/').some((part) => part === '..' || part === '.')) return 'it has a part "." or ".."';
  if (/%(?![0-9a-f]{2})/i.test(place)) return 'it has a percent sign that encodes nothing';
  return undefined;
}
