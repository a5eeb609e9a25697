/** What a person goes on with; of what is hard to take back not the button that does it: Enter may still be held down. */
export function focusFirst(form: HTMLElement | undefined, isHard: boolean): void {
  form?.querySelector<HTMLElement>(isHard ? 'input, button[type=button]' : 'input, button')?.focus();
}
