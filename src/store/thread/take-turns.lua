-- Chooses among the threads that are due; returns their members. Tenants take turns: the next is the one with the fewest open
-- cases, counting each thread chosen here as one; among equals, the one whose first thread has been due for longest. It changes
-- nothing.
--@include open-counts
--@key due
--@key open
--@arg until_time        the end of a range of scores
--@arg limit             most threads to choose
--@arg max_open          most cases that one tenant may have open
--@arg share             see TENANT_SHARE in src/contracts/facts/thread.ts
local most_threads, most, part = tonumber(limit), tonumber(max_open), tonumber(share)
local total = redis.call('ZCARD', open)
local left = math.ceil(most + most / part) - total
local names = redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time, 'LIMIT', 0, 1000)
if #names == 0 then return {} end
local counts = open_counts(open, total, names)
local tenants = {}
for i, name in ipairs(names) do
  tenants[i] = { due = due .. ':' .. name, open = tonumber(counts[i] or '0'), rank = i, taken = 0 }
end
table.sort(tenants, function(a, b)
  if a.open ~= b.open then return a.open < b.open end
  return a.rank < b.rank
end)
local considered = math.min(#tenants, most_threads)
local at_a_time = math.ceil(most_threads / considered)
local chosen = {}
local function next_of(tenant)
  local nth = tenant.taken % at_a_time
  if nth == 0 then
    tenant.members = redis.call('ZRANGEBYSCORE', tenant.due, '-inf', until_time, 'LIMIT', tenant.taken, at_a_time)
  end
  return tenant.members[nth + 1]
end
local function has_room(level)
  return #chosen < most_threads and (level == 0 or level < math.min(most, part * left))
end
local level = tenants[1].open
while level and has_room(level) do
  local found, higher
  for i = 1, considered do
    local tenant = tenants[i]
    if tenant.open > level then
      higher = tenant.open
      break
    end
    local member = not tenant.ended and has_room(level) and next_of(tenant)
    if member then
      chosen[#chosen + 1] = member
      tenant.taken, tenant.open, left, found = tenant.taken + 1, level + 1, left - 1, true
    else tenant.ended = true end
  end
  level = found and level + 1 or higher
end
return chosen
