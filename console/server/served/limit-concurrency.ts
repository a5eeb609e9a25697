/** Runs so many works at once; the others wait, and begin in the order in which they came. */
export function limitConcurrency(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  return async (work) => {
    if (underWay < most) underWay++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The place is handed on, so that who comes just now is not before who waits.
      const next = waiting.shift();
      if (next) next();
      else underWay--;
    }
  };
}
