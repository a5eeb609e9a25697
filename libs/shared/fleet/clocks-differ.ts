/** An event may say an earlier time than those before it: the clocks of services differ a little. */
export const clocksDifferMs = 60_000;
