import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const component = z.looseObject({ 'bom-ref': z.string(), type: z.string(), name: z.string(), version: z.string() })
const document = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
})
type Document = z.infer<typeof document>

const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().default(''),
      dev: z.boolean().default(false),
      devOptional: z.boolean().default(false),
    }),
  ),
})

/** The bill of materials (CycloneDX) of the packages that an installation by the lock file of `folder` brings, but for development. */
export function billOfPackages(folder: string): Document {
  // npm's own --omit dev leaves out, beside these, packages that others bring too, such as zod.
  const listed = execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  const { packages } = lock.parse(JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')))
  const brought = new Set(
    Object.entries(packages).flatMap(([path, { version, dev, devOptional }]) =>
      dev || devOptional ? [] : [`${path.split('node_modules/').at(-1)}@${version}`],
    ),
  )
  const whole = document.parse(JSON.parse(listed))
  const components = whole.components.filter(({ name, version }) => brought.has(`${name}@${version}`))
  // npm names the package after its folder.
  const own = whole.metadata.component
  const named = { ...own, name: own['bom-ref'].slice(0, own['bom-ref'].lastIndexOf('@')) }
  return withComponents({ ...whole, metadata: { ...whole.metadata, component: named } }, components)
}

/** The same of what an image holds: of these packages those that `isThere`, and Node. */
export function billOfMaterials(folder: string, isThere: (name: string) => boolean, node: string): Document {
  const whole = billOfPackages(folder)
  const components = whole.components.filter(({ name }) => isThere(name))
  const runtime = {
    'bom-ref': `node@${node}`,
    type: 'application',
    name: 'node',
    version: node,
    purl: `pkg:generic/node@${node}`,
  }
  return withComponents(whole, [...components, runtime])
}

/** The bill with these alone, and what of them depends on what. */
function withComponents(whole: Document, components: Document['components']): Document {
  const refs = new Set([whole.metadata.component, ...components].map((one) => one['bom-ref']))
  const dependencies = whole.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }))
  return { ...whole, components, dependencies }
}
