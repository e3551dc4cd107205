import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownFolder } from './own-folder.ts'

/** Paths of PEM files, which hold for two days. */
export interface Certificates {
  /** The authority that signed the rest. */
  readonly ca: string
  /** For 127.0.0.1 and the name gavel.test. */
  readonly cert: string
  readonly key: string
  /** Key and certificate in one file, as Kafka wants them. */
  readonly keyStore: string
  /** An authority that signed nothing of this. */
  readonly otherCa: string
}

/** Makes certificates with openssl in a temporary folder; null where there is no openssl. */
export function makeCertificates(): Certificates | null {
  const folder = ownFolder('certificates')
  const at = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe', cwd: folder })
  try {
    openssl('version')
  } catch {
    return null
  }
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj']
  for (const ca of ['ca', 'other-ca'])
    openssl('req', '-x509', ...fresh, `/CN=Gavel test ${ca}`, '-days', '2', '-keyout', `${ca}.key`, '-out', `${ca}.pem`)
  openssl('req', ...fresh, '/CN=gavel.test', '-keyout', 'server.key', '-out', 'server.csr')
  writeFileSync(at('names'), 'subjectAltName = DNS:gavel.test, IP:127.0.0.1\n')
  const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
  openssl('x509', '-req', '-in', 'server.csr', ...signer, '-out', 'server.pem')
  writeFileSync(
    at('server-key-store.pem'),
    readFileSync(at('server.key'), 'utf8') + readFileSync(at('server.pem'), 'utf8'),
  )
  return {
    ca: at('ca.pem'),
    cert: at('server.pem'),
    key: at('server.key'),
    keyStore: at('server-key-store.pem'),
    otherCa: at('other-ca.pem'),
  }
}
