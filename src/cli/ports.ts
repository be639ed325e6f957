import type { Ports } from '../auth/ports.js';
import type { Invocation } from './command.js';
import { canPrompt, environmentWithoutCredentials, KEYCHAIN_CHILD } from './context.js';
import { listenForInterruption } from './output/report.js';

/** Returns the world of one command line, as the use cases see it. What a cached token does not need is loaded late. */
export function portsOf(invocation: Invocation): Ports {
  const { ctx, report } = invocation;
  const { env, home, platform, uid, pid, now, startedAt } = ctx;
  const prompts = () => import('./output/prompt.js');
  return {
    ...{ env, home, platform, uid, pid, now, startedAt },
    get cwd() {
      return ctx.cwd;
    },
    get canUnlock() {
      return (platform !== 'linux' || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY)) && canPrompt(ctx);
    },
    get keychainHelper() {
      return { command: ctx.self.command, args: [...ctx.self.args, KEYCHAIN_CHILD] };
    },
    childEnvironment: () => environmentWithoutCredentials(env),
    readStdin: ctx.stdin.read,
    reporter: {
      note: report.note,
      warn: report.warn,
      ask: report.ask,
      detail: report.detail,
      spinner: async () => (await import('./output/spinner.js')).createSpinner(invocation),
      requests: async (progress, text) =>
        (await import('./output/spinner.js')).showRequests(invocation, progress, text),
    },
    prompter: {
      text: async (question, options) => (await prompts()).askText(invocation, question, options),
      hidden: async (question) => (await prompts()).askHidden(invocation, question),
      yes: async (question, options) => (await prompts()).askYes(invocation, question, options),
      choice: async (question, choices) => (await prompts()).askChoice(invocation, question, choices),
    },
    listen: () => listenForInterruption(report),
  };
}
