/** @returns `<prefix>-00001` and so on */
export function clusterNames(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index + 1).padStart(5, '0')}`);
}
