import { accountsForAppeals } from './appeals.ts'

accountsForAppeals('SQLite', () => ({}))
