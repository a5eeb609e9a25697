import type { Steps } from '@rollcall/shared/fleet/work-in-steps';

/** So that a frame has room for it, for the slice of another, and for what the browser does itself. */
const sliceMs = 8;
/** A page that nobody sees has no frames, and is right all the same when somebody looks. */
const withoutFrameMs = 100;

/**
 * Timers alone run one after the other, and no frame comes between them.
 * @returns how to stop it
 */
function afterFrame(what: () => void): () => void {
  let timer = setTimeout(() => {
    cancelAnimationFrame(frame);
    what();
  }, withoutFrameMs);
  const frame = requestAnimationFrame(() => {
    clearTimeout(timer);
    timer = setTimeout(what, 0);
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/**
 * Takes the steps, as many as fit, at once, and the others one slice a frame. What takes one slice alone is done at once; else what is
 * made of it has a slice of its own.
 * @returns how to stop it
 */
export function workInSlices<Value>(steps: Steps<Value>, done: (value: Value) => void): () => void {
  let stop: (() => void) | undefined;
  const later = (what: () => void): void => {
    stop = afterFrame(what);
  };
  function work(): void {
    const endMs = performance.now() + sliceMs;
    let step = steps.next();
    while (!step.done && performance.now() < endMs) step = steps.next();
    if (!step.done) return later(work);
    const { value } = step;
    if (stop === undefined) done(value);
    else later(() => done(value));
  }
  work();
  return () => stop?.();
}
