import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { RunningWork } from './running-work.ts';

export interface SideWrites {
  /** Nobody waits for it, and what is not written now is found again. @param failure - is logged when it fails */
  write(writing: Promise<void>, failure: string): void;
  settled(): Promise<void>;
}

/** Writes that are no transitions: they must not hold those up. */
export function writeAside(logger: Logger): SideWrites {
  const running = new RunningWork();
  return {
    write(writing, failure) {
      running.track(
        writing.catch((thrown: unknown) => logger.error({ err: toRollcallError(thrown) }, failure)),
      );
    },
    settled: () => running.settled(),
  };
}
