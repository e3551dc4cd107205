import './tenants.test.ts'
