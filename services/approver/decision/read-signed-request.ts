/** What an agent has signed, as far as it says which key of which cluster wants what. */
export function saidIn(signed: string): { verb?: unknown; body?: { clusterId?: unknown; newKey?: unknown } } {
  try {
    return (JSON.parse(signed) ?? {}) as ReturnType<typeof saidIn>;
  } catch {
    return {};
  }
}
