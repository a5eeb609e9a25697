/** The server's authorization timeout is 5 s; most clients connect again as soon as they are refused. */
const lateMs = 2000;
/** A connection and a timer each; more are left to the server's timeout. */
const mostWaiting = 5000;

/**
 * Answers that nobody is in a hurry for: refusals of those from whose address too many came. It costs an attacker time for each
 * connection, and the hub a timer.
 */
export function createTarpit({ dropped }: { dropped(): void }) {
  const waiting = new Map<NodeJS.Timeout, () => void>();

  return {
    push(answer: () => void): void {
      if (waiting.size >= mostWaiting) return dropped();
      const timer = setTimeout(() => {
        waiting.delete(timer);
        answer();
      }, lateMs);
      waiting.set(timer, answer);
    },
    /** Answers all of them now. */
    drain(): void {
      for (const [timer, answer] of waiting) {
        clearTimeout(timer);
        answer();
      }
      waiting.clear();
    },
  };
}
