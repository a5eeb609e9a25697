export { registerCommand, shellWord } from '@rollcall/shared/hub';
