/** Whether a base URL leads to a server of one's own: this machine, or another one of a private network. */
export function isOwnServer(baseUrl: string): boolean {
  const host = new URL(baseUrl).hostname
  return PRIVATE_ADDRESS.test(host) || PRIVATE_NAME.test(host) || !/[.:]/.test(host)
}

const PRIVATE_ADDRESS = /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[(?:::1|f[cd])).*/
const PRIVATE_NAME = /\.(?:local|lan|internal|home\.arpa)$/
