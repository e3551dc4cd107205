-- When threads are due: a sorted set for each tenant (due:TENANT), and one of the tenants by the earliest time in theirs
-- (due/tenants). A thread that is due at once has a score below zero, in the order in which threads became due.
local function tenant_due(due, member)
  local tenant = string.match(member, '^[^/:]*')
  return due .. ':' .. tenant, tenant
end
local function update_earliest(due, tenant)
  local earliest = redis.call('ZRANGE', due .. ':' .. tenant, 0, 0, 'WITHSCORES')[2]
  if earliest then redis.call('ZADD', due .. '/tenants', earliest, tenant)
  else redis.call('ZREM', due .. '/tenants', tenant) end
end
local function lower_earliest(due, tenant, at) redis.call('ZADD', due .. '/tenants', 'LT', at, tenant) end
local function set_due(due, member, at)
  local of_tenant, tenant = tenant_due(due, member)
  if redis.call('ZADD', of_tenant, at, member) == 1 then lower_earliest(due, tenant, at)
  else update_earliest(due, tenant) end
end
local function due_by(due, member, at)
  local of_tenant, tenant = tenant_due(due, member)
  redis.call('ZADD', of_tenant, 'LT', at, member)
  lower_earliest(due, tenant, at)
end
local function due_if_not_yet(due, member, at)
  local of_tenant, tenant = tenant_due(due, member)
  if redis.call('ZADD', of_tenant, 'NX', at, member) == 1 then lower_earliest(due, tenant, at) end
end
local function at_once(now) return tonumber(now) - 1e15 end
local function not_due(due, member)
  local of_tenant, tenant = tenant_due(due, member)
  if redis.call('ZREM', of_tenant, member) == 1 then update_earliest(due, tenant) end
end
local function is_due(due, member)
  return redis.call('ZSCORE', tenant_due(due, member), member)
end
