const namePart = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** Each part between dots by itself: `a..b` and `a.-b` are no prefixes, and the API server refuses the whole object for one. */
const prefixPart = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const longestPrefix = 253;

/** Whether the API server takes it as the key of a label. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash < 0) return namePart.test(key);
  return (
    slash <= longestPrefix && prefixPart.test(key.slice(0, slash)) && namePart.test(key.slice(slash + 1))
  );
}

/** Whether the API server takes it as the value of a label. */
export function isLabelValue(value: string): boolean {
  return value === '' || namePart.test(value);
}
