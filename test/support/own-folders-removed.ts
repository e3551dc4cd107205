import { afterAll } from 'vitest'
import { removeOwnFolders } from './own-folder.ts'

// Run before each file of tests, also where files share their modules.
afterAll(removeOwnFolders)
