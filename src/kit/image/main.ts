// Makes what stands in a folder into what the image holds: node src/kit/image/main.ts FOLDER SHELVES (Containerfile).
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { billOfMaterials } from './bill.ts'
import { prune, sizeOf } from './prune.ts'

const [folder, shelves] = process.argv.slice(2)
if (folder === undefined || (shelves !== '0' && shelves !== '1')) {
  process.stderr.write('usage: node src/kit/image/main.ts FOLDER 0|1\n')
  process.exit(2)
}
const packages = join(folder, 'node_modules')
const gone = prune(packages, { shelves: shelves === '1' })
const bill = billOfMaterials(folder, (name) => existsSync(join(packages, name)), process.versions.node)
writeFileSync(join(folder, 'sbom.cdx.json'), JSON.stringify(bill))
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
process.stdout.write(
  `${folder}: ${megabytes(sizeOf(folder))}, of these ${megabytes(sizeOf(join(folder, 'bin', 'node')))} Node; ${megabytes(gone)} left out\n`,
)
