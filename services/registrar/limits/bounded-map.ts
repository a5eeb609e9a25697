/** A map by what outsiders choose: of so many entries, and one more has the one that was made longest ago forgotten. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  override set(key: Key, value: Value): this {
    const [oldest] = this.size >= this.#capacity && !this.has(key) ? this.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}
