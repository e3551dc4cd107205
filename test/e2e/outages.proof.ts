import './outages.test.ts'
