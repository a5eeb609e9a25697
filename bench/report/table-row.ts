/** What was measured of others, on a 2-core machine with kube-apiserver 1.36; beside ours for the ratio, not for the size. */
export interface Row {
  readonly what: string;
  readonly is: string;
  readonly target?: { readonly says: string; readonly isMet: boolean };
  readonly ocm?: string;
  readonly clusternet?: string;
}

export const ms = (value: number) => `${value.toFixed(0)} ms`;
export const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
export const seconds = (value: number) => `${(value / 1000).toFixed(1)} s`;
export const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
export const listOf = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ') || 'none';
export const coresOf = (cores: Readonly<Record<string, number>>) =>
  Object.entries(cores)
    .map(([name, used]) => `${name} ${used.toFixed(2)}`)
    .join(', ');
export const atMost = (value: number, bound: number, says: string) => ({
  says: `≤ ${says}`,
  isMet: value <= bound,
});
export const atLeast = (value: number, bound: number, says: string) => ({
  says: `≥ ${says}`,
  isMet: value >= bound,
});
