/** Components are compiled by Vite; to the compiler of types each is only that. */
declare module '*.svelte' {
  import type { Component } from 'svelte';
  const component: Component<Record<string, unknown>>;
  export default component;
}
