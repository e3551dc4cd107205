// Makes the files of a release out of this clone: npm run release -- FOLDER KEY (docs/releases.md).
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { PROJECT } from '../../../config/load.ts'
import { billOfPackages } from '../image/bill.ts'

const [to, key] = process.argv.slice(2)
if (to === undefined || key === undefined) {
  process.stderr.write('usage: npm run release -- FOLDER KEY (a private key of ssh-keygen)\n')
  process.exit(2)
}
const folder = resolve(to)
mkdirSync(folder, { recursive: true })
const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: PROJECT, encoding: 'utf8' })
// What the build says comes first.
const [tarball] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(packed.slice(packed.indexOf('[\n'))))
const bill = tarball.filename.replace(/\.tgz$/, '.cdx.json')
writeFileSync(join(folder, bill), JSON.stringify(billOfPackages(PROJECT), null, 1))
const sums = [tarball.filename, bill].map((name) => {
  const sum = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex')
  return `${sum}  ${name}\n`
})
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
// It asks before it writes over a signature.
rmSync(join(folder, 'SHA256SUMS.sig'), { force: true })
const signing = ['-q', '-Y', 'sign', '-n', 'gavel-release', '-f', resolve(key), 'SHA256SUMS']
execFileSync('ssh-keygen', signing, { cwd: folder, stdio: 'inherit' })
process.stdout.write(`${[...sums, `signed: ${join(folder, 'SHA256SUMS.sig')}\n`].join('')}`)
