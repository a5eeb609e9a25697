export interface OutageSettings {
  /** Share of the known clusters, 0 to 1. */
  readonly share: number;
  readonly minimum: number;
  readonly windowMs: number;
  readonly deadlineMs: number;
}

const buckets = 32;

/**
 * Notices when a large part of the fleet goes silent together: most likely the hub's own network (principle 5). It counts
 * who fell silent within a sliding window, and who is silent at all.
 */
export class OutageGuard {
  readonly #settings: OutageSettings;
  readonly #bucketMs: number;
  readonly #fellSilent = new Uint32Array(buckets);
  #newest = 0;
  #recent = 0;
  #silent = 0;
  #peak = 0;
  #heldSinceMs: number | undefined;
  #untilDeadline = false;

  constructor(settings: OutageSettings) {
    this.#settings = settings;
    this.#bucketMs = settings.windowMs / buckets;
  }

  /** While it holds, nobody becomes suspect or unreachable. */
  get holding(): boolean {
    return this.#heldSinceMs !== undefined;
  }

  get silent(): number {
    return this.#silent;
  }

  /** When held transitions are taken at the latest. */
  get heldUntilMs(): number {
    return (this.#heldSinceMs ?? -Infinity) + this.#settings.deadlineMs;
  }

  fellSilent(nowMs: number): void {
    this.#turn(nowMs);
    this.#silent++;
    this.#recent++;
    this.#fellSilent[this.#newest % buckets]!++;
  }

  /** @param sinceMs - what `fellSilent` was called with for this cluster */
  heardAgain(sinceMs: number, nowMs: number): void {
    this.#turn(nowMs);
    this.#silent--;
    const bucket = Math.floor(sinceMs / this.#bucketMs);
    if (bucket <= this.#newest - buckets || this.#fellSilent[bucket % buckets] === 0) return;
    this.#recent--;
    this.#fellSilent[bucket % buckets]!--;
  }

  /**
   * Whether an outage begins or ends now. It ends when half of those who were silent at its worst are heard again, or at the
   * deadline.
   * @param known - clusters that should be heard
   */
  judge(nowMs: number, known: number): 'begins' | 'ends' | undefined {
    this.#turn(nowMs);
    if (this.#heldSinceMs === undefined) {
      if (this.#recent <= Math.max(this.#settings.minimum, this.#settings.share * known)) return undefined;
      this.hold(nowMs);
      return 'begins';
    }
    this.#peak = Math.max(this.#peak, this.#silent);
    const mostAreBack = this.#silent * 2 <= this.#peak && !this.#untilDeadline;
    if (!mostAreBack && nowMs < this.heldUntilMs) return undefined;
    if (!mostAreBack) this.#forgetUntil(this.#heldSinceMs);
    this.#heldSinceMs = undefined;
    return 'ends';
  }

  /** @param untilDeadline - at a start into an outage that was declared before: nobody knows here who was silent then */
  hold(nowMs: number, untilDeadline = false): void {
    this.#heldSinceMs = nowMs;
    this.#untilDeadline = untilDeadline;
    this.#peak = this.#silent;
  }

  /** Who was silent when an outage began is of that one, and begins none after it; its deadline may be shorter than the window. */
  #forgetUntil(atMs: number): void {
    const last = Math.floor(atMs / this.#bucketMs);
    for (let passed = Math.max(0, this.#newest - buckets + 1); passed <= last; passed++) {
      this.#recent -= this.#fellSilent[passed % buckets]!;
      this.#fellSilent[passed % buckets] = 0;
    }
  }

  #turn(nowMs: number): void {
    const bucket = Math.floor(nowMs / this.#bucketMs);
    for (let passed = Math.max(this.#newest + 1, bucket - buckets + 1); passed <= bucket; passed++) {
      this.#recent -= this.#fellSilent[passed % buckets]!;
      this.#fellSilent[passed % buckets] = 0;
    }
    this.#newest = Math.max(this.#newest, bucket);
  }
}
