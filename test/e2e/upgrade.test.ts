import { readsTheVersionBefore } from './upgrade.ts'

readsTheVersionBefore()
