import type { Protocol, Session } from './protocol.js';

export function protocolV3(_session: Session): Protocol {
  throw new Error('not written yet');
}
