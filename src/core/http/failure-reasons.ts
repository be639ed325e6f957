/** Whether plain HTTP may have been sent to a TLS port, which then closes the connection. */
export function isCutOff(reason: string, address: string): boolean {
  return (reason === 'ECONNRESET' || reason === 'EPIPE') && address.startsWith('http:');
}

/** Says in words why a connection failed. */
export function networkReason(reason: string): string {
  switch (reason) {
    case 'ECONNREFUSED':
      return 'the connection was refused';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'there is no such host';
    case 'ECONNRESET':
    case 'EPIPE':
      return 'the connection broke';
    default:
      return reason;
  }
}

/** Says in words why TLS failed. */
export function tlsReason(reason: string): string {
  switch (reason) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'the certificate is for another name';
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `the port does not answer in TLS (${reason})`;
    case 'CERT_HAS_EXPIRED':
      return 'the certificate has expired';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `the certificate is self-signed or its CA is unknown (${reason})`;
    default:
      return reason;
  }
}

/** Says what to do after TLS failed. */
export function tlsHint(reason: string): { hint: string; option?: string } {
  if (
    reason === 'EPROTO' ||
    reason === 'ERR_SSL_WRONG_VERSION_NUMBER' ||
    reason === 'ERR_SSL_PACKET_LENGTH_TOO_LONG'
  ) {
    return { hint: 'If the port speaks plain HTTP, use http:// in place of https://.' };
  }
  if (/CERTIFICATE_REQUIRED|HANDSHAKE_FAILURE|BAD_CERTIFICATE|KEY|PEM|ASN1|OSSL/.test(reason)) {
    return { hint: 'Check the client certificate and its key.', option: 'tls.cert' };
  }
  if (reason === 'CERT_HAS_EXPIRED') return { hint: 'Ask the administrator of the server to renew it.' };
  return {
    hint: 'Check that host and certificate belong together, or name the authority that issued it.',
    option: 'tls.ca',
  };
}
