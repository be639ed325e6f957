// The completion scripts as the constant that the build and the tests give the program.
import fs from 'node:fs';

const FILES = { bash: 'bash', zsh: 'zsh', fish: 'fish', powershell: 'ps1', pwsh: 'ps1' };
const read = (end) =>
  fs.readFileSync(new URL(`../src/cli/completion/graphcred.${end}`, import.meta.url), 'utf8');
const scripts = Object.fromEntries(Object.entries(FILES).map(([shell, end]) => [shell, read(end)]));

export const define = { __COMPLETION__: JSON.stringify(scripts) };
