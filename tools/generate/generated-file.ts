/** What a generator owns: a folder where nothing else lives, and the text of each file in it. */
export interface Generated {
  /** Relative to the repository. Files in it with this extension that are not in `files` are left-overs. */
  folder: string;
  extension: string;
  files: ReadonlyMap<string, string>;
}
