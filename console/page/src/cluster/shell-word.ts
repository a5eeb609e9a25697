/** Safe in a shell as it is; everything else is quoted. As `shellWord` of libs/shared/hub, which a browser cannot load. */
const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;

export const shellWord = (text: string): string =>
  plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
