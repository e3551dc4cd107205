import type { ProcessRole } from '../../operations/identity.ts'

/** What these roles take is loaded for them alone: with what the console takes it is a third of all modules. */
export async function partsOfRoles(roles: readonly ProcessRole[]) {
  return {
    ...(roles.includes('door') && (await import('./door.ts'))),
    ...(roles.includes('jetstream') && (await import('./jetstream.ts'))),
    ...(roles.includes('record') && (await import('./record.ts'))),
  }
}
