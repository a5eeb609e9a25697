/** The time, for everything that says how long ago something was. */
class Clock {
  nowMs = $state(Date.now());

  start(): () => void {
    const timer = setInterval(() => (this.nowMs = Date.now()), 1000);
    return () => clearInterval(timer);
  }
}

export const clock = new Clock();
