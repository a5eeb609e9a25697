import { until } from '../harness/embedded.ts';

/** As `until`, for what kubelets and controllers do, who wait up to a minute before they look again: only a failure takes longer. */
export const untilOnNodes: typeof until = (what, ask, how) => until(what, ask, { withinMs: 240_000, ...how });
