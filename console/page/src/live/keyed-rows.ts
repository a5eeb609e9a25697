/** Rows by their key, in the order of the keys. Sorted again only where a key came or went. */
export class KeyedRows<Row> {
  readonly #keyOf: (row: Row) => string;
  readonly #rows = new Map<string, Row>();
  /** As last given, with the place of each key in it. */
  #sorted: Row[] = [];
  readonly #places = new Map<string, number>();
  #isOrderKnown = false;

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
    this.#isOrderKnown = false;
  }

  change(rows: readonly Row[], gone: readonly string[]): void {
    for (const row of rows) {
      const key = this.#keyOf(row);
      const place = this.#isOrderKnown ? this.#places.get(key) : undefined;
      if (place === undefined) this.#isOrderKnown = false;
      else this.#sorted[place] = row;
      this.#rows.set(key, row);
    }
    for (const key of gone) if (this.#rows.delete(key)) this.#isOrderKnown = false;
  }

  /** @returns an array that is not changed afterwards */
  sorted(): Row[] {
    if (!this.#isOrderKnown) this.#sort();
    return [...this.#sorted];
  }

  #sort(): void {
    // By code units: a hundred thousand names are sorted between two frames, and they are DNS labels.
    // oxlint-disable-next-line unicorn/no-array-sort
    const keys = [...this.#rows.keys()].sort();
    this.#sorted = keys.map((key) => this.#rows.get(key) as Row);
    this.#places.clear();
    for (const [place, key] of keys.entries()) this.#places.set(key, place);
    this.#isOrderKnown = true;
  }
}
