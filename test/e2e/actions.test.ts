import { accountsForActions } from './actions.ts'

accountsForActions('SQLite', () => ({}))
