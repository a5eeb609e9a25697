/** Rows by their key, in the order of the keys. Sorted again only where a key came or went. */
export class KeyedRows<Row> {
  readonly #keyOf: (row: Row) => string;
  readonly #rows = new Map<string, Row>();
  #keys: string[] | undefined;

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
    this.#keys = undefined;
  }

  change(rows: readonly Row[], gone: readonly string[]): void {
    const before = this.#rows.size;
    for (const row of rows) this.#rows.set(this.#keyOf(row), row);
    if (this.#rows.size !== before) this.#keys = undefined;
    for (const key of gone) if (this.#rows.delete(key)) this.#keys = undefined;
  }

  sorted(): Row[] {
    // By code units: a hundred thousand names are sorted between two frames, and they are DNS labels.
    // oxlint-disable-next-line unicorn/no-array-sort
    this.#keys ??= [...this.#rows.keys()].sort();
    return this.#keys.map((key) => this.#rows.get(key) as Row);
  }
}
