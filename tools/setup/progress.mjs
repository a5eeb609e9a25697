/** Elsewhere than on a terminal a line is printed this often. */
const plainEveryMs = 30_000;

/**
 * One line of progress at a time on stderr: stdout belongs to results.
 * @param {string} task - e.g. `building etcd`
 */
export function startProgress(task) {
  const startedAtMs = Date.now();
  const isTerminal = process.stderr.isTTY === true;
  let detail = '';
  let printedAtMs = startedAtMs;
  const elapsed = () => formatSeconds(Math.round((Date.now() - startedAtMs) / 1000));
  const draw = () => {
    const text = `${task}: ${elapsed()}${detail && `, ${detail}`}`;
    if (isTerminal)
      process.stderr.write(`\r\u001b[2K[setup] ${text.slice(0, (process.stderr.columns ?? 80) - 9)}`);
    else if (Date.now() - printedAtMs >= plainEveryMs) {
      printedAtMs = Date.now();
      say(text);
    }
  };
  const timer = setInterval(draw, 500);
  return {
    /** @param {string} text - what is shown behind the elapsed time from now on */
    update(text) {
      detail = text;
    },
    /** @param {string} outcome - e.g. `done` */
    end(outcome) {
      clearInterval(timer);
      if (isTerminal) process.stderr.write('\r\u001b[2K');
      say(`${task}: ${outcome} (${elapsed()})`);
    },
  };
}

/** @param {string} text */
export function say(text) {
  process.stderr.write(`[setup] ${text}\n`);
}

/** @param {string} holder - who holds the lock, for people */
export function sayWaiting(holder) {
  say(`another set-up is at work (${holder}), waiting for it`);
}

/**
 * @param {number} seconds
 * @returns {string} `45 s` or `3 min 20 s`
 */
export function formatSeconds(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}
