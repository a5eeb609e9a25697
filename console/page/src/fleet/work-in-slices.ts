import type { Steps } from '@rollcall/shared/fleet/steps';

/** So that a frame has room for it, and for what the browser does itself. */
const sliceMs = 8;

/**
 * Takes the steps, as many as fit, at once, and the others between frames.
 * @returns how to stop it
 */
export function workInSlices<Value>(steps: Steps<Value>, done: (value: Value) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  function work(): void {
    const endMs = performance.now() + sliceMs;
    do {
      const step = steps.next();
      if (step.done) return done(step.value);
    } while (performance.now() < endMs);
    timer = setTimeout(work, 0);
  }
  work();
  return () => clearTimeout(timer);
}
