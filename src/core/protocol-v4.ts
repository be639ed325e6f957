import type { Protocol, Session } from './protocol.js';

export function protocolV4(_session: Session): Protocol {
  throw new Error('not written yet');
}
