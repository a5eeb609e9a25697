/** One version for everything that is built from this repository; `package.json` says the same (a test compares them). */
export const rollcallVersion = '0.1.0';
