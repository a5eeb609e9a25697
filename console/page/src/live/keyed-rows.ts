/** Rows by their key, in the order of the keys. */
export class KeyedRows<Row> {
  readonly #keyOf: (row: Row) => string;
  readonly #rows = new Map<string, Row>();
  /** As last given; of those whose key is there since then, and has been, the newest row. */
  #sorted: Row[] = [];
  /** Keys that came or went since then. */
  readonly #moved = new Set<string>();

  constructor(keyOf: (row: Row) => string) {
    this.#keyOf = keyOf;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  clear(): void {
    this.#rows.clear();
    this.#moved.clear();
    this.#sorted = [];
  }

  change(rows: readonly Row[], gone: readonly string[]): void {
    for (const row of rows) {
      const key = this.#keyOf(row);
      if (!this.#rows.has(key)) this.#moved.add(key);
      else if (!this.#moved.has(key)) this.#sorted[this.#placeOf(key)] = row;
      this.#rows.set(key, row);
    }
    for (const key of gone) if (this.#rows.delete(key)) this.#moved.add(key);
  }

  /** @returns an array that is not changed afterwards */
  sorted(): Row[] {
    if (this.#moved.size > 0) this.#merge();
    return [...this.#sorted];
  }

  #placeOf(key: string): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#keyOf(this.#sorted[middle]!) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** One that comes or goes among a hundred thousand sorts nothing anew. */
  #merge(): void {
    const stayed = this.#sorted.filter((row) => !this.#moved.has(this.#keyOf(row)));
    // By code units: a hundred thousand names are sorted between two frames, and they are DNS labels.
    // oxlint-disable-next-line unicorn/no-array-sort
    const came = [...this.#moved].filter((key) => this.#rows.has(key)).sort();
    const merged: Row[] = [];
    let at = 0;
    for (const key of came) {
      while (at < stayed.length && this.#keyOf(stayed[at]!) < key) merged.push(stayed[at++]!);
      merged.push(this.#rows.get(key) as Row);
    }
    while (at < stayed.length) merged.push(stayed[at++]!);
    this.#sorted = merged;
    this.#moved.clear();
  }
}
