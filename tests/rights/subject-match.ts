/**
 * What NATS allows, worked out a second time and apart from the server: whether a subject, or a pattern to subscribe to, lies
 * within a pattern of an allow list. A wildcard in what is asked counts as a word like any other, so only a wildcard covers it;
 * `*` covers `>` as well, as the server has it (measured). So a right to `a.*` is one to hear everything below `a.`.
 */
export function liesWithin(asked: string, allowed: string): boolean {
  const words = asked.split('.');
  const pattern = allowed.split('.');
  for (const [at, part] of pattern.entries()) {
    if (part === '>') return words.length > at;
    const word = words[at];
    if (word === undefined || (part !== '*' && part !== word)) return false;
  }
  return words.length === pattern.length;
}

export function isAllowed(asked: string, allowList: readonly string[]): boolean {
  return allowList.some((allowed) => liesWithin(asked, allowed));
}
