export { type Arrivals, createArrivals } from './arrivals.ts';
export { type Consumption, consumeEvents } from './consume-events.ts';
export { createDepartureTurn, departuresAtOnce } from './pace-departures.ts';
export { decideAndAppend } from './decide-and-append.ts';
export { inBatches } from './in-batches.ts';
export { createKeyedQueue } from './keyed-queue.ts';
export { createReconciler } from './reconciler.ts';
export { batchOrEach } from './batch-or-each.ts';
export { yielding } from './yielding.ts';
