import { GraphException } from './errors.js';

/** Why an address is not taken. @param url what it is to the URL class, if it is anything */
export function addressFault(url: URL | undefined, text: string, name: string): GraphException {
  const fault = (problem: string, hint: string) =>
    new GraphException('USAGE', `The ${name} ${problem}.`, { hint });
  if (!/^https?:\/\//i.test(text)) {
    return fault(
      'must be a URL that begins with http:// or https://',
      'For example http://127.0.0.1 or https://graph.example.com.',
    );
  }
  if (url === undefined) return fault('is not a valid URL', 'For example http://127.0.0.1 or https://[::1].');
  if (url.username !== '' || url.password !== '')
    return fault('must not hold a user name or password', 'Give them as username and password.');
  return fault('must end before any ? or #', 'For example https://graph.example.com/restpp.');
}
