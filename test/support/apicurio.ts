import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'
import { findOnPath, runCommand } from '../../src/kit/stack/servers/command.ts'
import { freePort, type SpawnedServer, spawnServer } from '../../src/kit/stack/servers/local-server.ts'
import { tell } from './pipeline.ts'

/** The last generation that runs on Java 17. */
const VERSION = '2.6.13.Final'
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`
const FOLDER = join(PROJECT, '.cache', `apicurio-${VERSION}`)

/** A schema registry of its own on 127.0.0.1, and its address as Confluent's; null, which is said, where there is none to be had. */
export async function anApicurio(): Promise<{ readonly url: string; readonly server: SpawnedServer } | null> {
  try {
    if (!existsSync(FOLDER)) await fetchApicurio()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
    const options = [
      '-Xmx512m',
      '-Dquarkus.http.host=127.0.0.1',
      `-Dquarkus.http.port=${port}`,
      '-Dquarkus.log.level=WARN',
    ]
    const server = await spawnServer({
      name: 'Apicurio',
      command: 'java',
      args: [...options, '-jar', join(FOLDER, `apicurio-registry-app-${VERSION}-runner.jar`)],
      ready: async () => (await fetch(`${url}/subjects`)).ok,
      readyWithinMs: 180_000,
      say: tell,
    })
    return { url, server }
  } catch (error) {
    tell(`SKIPPED, nothing was tried on a real schema registry: ${String(error)}`)
    return null
  }
}

/** By Maven, once: 142 MB. */
async function fetchApicurio(): Promise<void> {
  if ((await findOnPath('mvn')) === undefined)
    throw new Error('it is fetched with Maven, and there is no mvn on the PATH')
  const draft = `${FOLDER}-${process.pid}`
  try {
    await mkdir(draft, { recursive: true })
    await runCommand(
      'mvn',
      ['-q', '-B', 'dependency:copy', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${draft}`],
      600_000,
    )
    const archive = join(draft, `apicurio-registry-app-${VERSION}-all.tar.gz`)
    await runCommand('tar', ['-xzf', archive, '-C', draft], 120_000)
    await rm(archive)
    await rename(draft, FOLDER)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
