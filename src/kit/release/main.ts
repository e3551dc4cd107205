// Makes the files of a release out of the clone in which it is run: npm run release -- FOLDER KEY (docs/releases.md).
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { z } from 'zod'
import { billOfPackages } from '../image/bill.ts'

const [to, key, isTrial] = process.argv.slice(2)
if (to === undefined || key === undefined || ![undefined, '--try'].includes(isTrial)) {
  process.stderr.write('usage: npm run release -- FOLDER KEY [--try] (a private key of ssh-keygen)\n')
  process.exit(2)
}
const project = process.cwd()
const folder = resolve(to)
const unclean = isTrial === undefined ? uncleanFiles() : []
if (unclean.length > 0) {
  process.stderr.write(`These files are not as they are committed, so nothing was made:\n${unclean.join('\n')}\n`)
  process.exit(1)
}
mkdirSync(folder, { recursive: true })
const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: project, encoding: 'utf8' })
// What the build says comes first.
const [tarball] = z.tuple([z.object({ filename: z.string() })]).parse(JSON.parse(packed.slice(packed.indexOf('[\n'))))
const bill = tarball.filename.replace(/\.tgz$/, '.cdx.json')
writeFileSync(join(folder, bill), JSON.stringify(billOfPackages(project), null, 1))
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

/** What git says of files that it has not, or not like this; what an earlier run made is none of them. */
function uncleanFiles(): string[] {
  const made = relative(project, folder)
  const beside = made === '' || made.startsWith('..') ? [] : [`:(exclude)${made}`]
  const status = ['status', '--porcelain', '--untracked-files=all', '--', '.', ...beside]
  return execFileSync('git', status, { cwd: project, encoding: 'utf8' }).split('\n').filter(Boolean)
}
