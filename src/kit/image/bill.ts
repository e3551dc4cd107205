import { execFileSync } from 'node:child_process'
import { z } from 'zod'

const document = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(
    z.looseObject({ 'bom-ref': z.string(), type: z.string(), name: z.string(), version: z.string() }),
  ),
})
type Document = z.infer<typeof document>

/**
 * The bill of materials (CycloneDX) of what an image holds: of the lock file in `folder` the packages outside development that
 * `isThere`, as npm itself lists them, and Node.
 */
export function billOfMaterials(folder: string, isThere: (name: string) => boolean, node: string): Document {
  const listed = execFileSync('npm', ['sbom', '--package-lock-only', '--omit', 'dev', '--sbom-format', 'cyclonedx'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  const whole = document.parse(JSON.parse(listed))
  const components = whole.components.filter(({ name }) => isThere(name))
  const runtime = {
    'bom-ref': `node@${node}`,
    type: 'application',
    name: 'node',
    version: node,
    purl: `pkg:generic/node@${node}`,
  }
  return { ...whole, components: [...components, runtime] }
}
