/** Which NATS server is which: one that is started again has its name, and another id. */
export class ServerIds {
  /** By name, the newest. */
  readonly #ids = new Map<string, string>();
  readonly #known = new Set<string>();

  /** @returns the id that it had before, when it is met for the first time: its connections of then are gone, and nobody tells of each */
  meet({
    serverId,
    serverName,
  }: {
    readonly serverId: string;
    readonly serverName: string;
  }): string | undefined {
    if (this.#known.has(serverId)) return undefined;
    this.#known.add(serverId);
    const former = this.#ids.get(serverName);
    this.#ids.set(serverName, serverId);
    return former;
  }

  clear(): void {
    this.#ids.clear();
    this.#known.clear();
  }
}
