import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, createServer } from 'node:tls'
import { expect, it } from 'vitest'
import { tlsOptions } from '../../src/platform/tls.ts'
import { makeCertificates } from '../support/certificates.ts'
import { ownFolder } from '../support/own-folder.ts'

/** What a server says of a client's certificate; why it could not connect. */
function shake(port: number, options: ReturnType<typeof tlsOptions>): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Object.assign({ host: '127.0.0.1', port }, options), () => {
      resolve(socket.getPeerCertificate().fingerprint)
      socket.end()
    })
    socket.once('error', (error) => resolve(String('code' in error ? error.code : error)))
  })
}

const [first, second] = [makeCertificates(), makeCertificates()]

it.skipIf(first === null)(
  'later connections use files that have replaced others; broken ones replace nothing',
  async () => {
    if (first === null || second === null) return
    const folder = ownFolder('tls')
    const at = (name: string) => join(folder, name)
    const put = (from: typeof first) => {
      for (const name of ['ca', 'cert', 'key'] as const) copyFileSync(from[name], at(name))
    }
    put(first)
    const files = { ca: at('ca'), cert: at('cert'), key: at('key') }
    const options = tlsOptions({ enabled: true, ...files, serverName: '' }, 'redis.tls')
    const serve = (of: typeof first) =>
      createServer({
        key: readFileSync(of.key),
        cert: readFileSync(of.cert),
        ca: readFileSync(of.ca),
        requestCert: true,
        rejectUnauthorized: true,
      }).on('tlsClientError', () => {})
    const servers = [serve(first), serve(second)]
    const ports = await Promise.all(
      servers.map(
        (server) =>
          new Promise<number>((done) =>
            server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port)),
          ),
      ),
    )
    const [before = 0, after = 0] = ports
    try {
      expect(await shake(before, options)).toMatch(/^[0-9A-F:]+$/)
      expect(await shake(after, options)).not.toMatch(/^[0-9A-F:]+$/)
      writeFileSync(at('cert'), 'half a fi')
      await sleep(1_100)
      expect(await shake(before, options)).toMatch(/^[0-9A-F:]+$/)
      put(second)
      await sleep(1_100)
      expect(await shake(after, options)).toMatch(/^[0-9A-F:]+$/)
    } finally {
      for (const server of servers) server.close()
    }
  },
)
