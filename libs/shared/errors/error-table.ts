/** By stable code. */
export type ErrorTable = Readonly<
  Record<
    string,
    {
      /** Whether the same call can succeed later without anybody changing anything. */
      readonly retry: boolean;
      /** What to do. Agents, CLI, conditions and docs print these very words. */
      readonly hint: string;
    }
  >
>;
