import type { Steps } from '@rollcall/shared/fleet/steps';

/** So that a frame has room for it, and for what the browser does itself. */
const sliceMs = 8;

/**
 * Takes the steps, as many as fit, at once, and the others between frames. What takes one slice alone is done at once; else what is
 * made of it has a slice of its own.
 * @returns how to stop it
 */
export function workInSlices<Value>(steps: Steps<Value>, done: (value: Value) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = (what: () => void): void => {
    timer = setTimeout(what, 0);
  };
  function work(): void {
    const endMs = performance.now() + sliceMs;
    let step = steps.next();
    while (!step.done && performance.now() < endMs) step = steps.next();
    if (!step.done) return later(work);
    const { value } = step;
    if (timer === undefined) done(value);
    else later(() => done(value));
  }
  work();
  return () => clearTimeout(timer);
}
