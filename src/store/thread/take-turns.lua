-- Chooses among the threads that are due; returns their members. Tenants take turns: the next is the one with the fewest open
-- cases, counting each thread chosen here as one; among equals, the one whose first thread has been due for longest. Requests for
-- which somebody waits come first, have places of their own, and take turns likewise. It changes nothing.
--@include due
--@include open-counts
--@key due
--@key open
--@arg until_time        the end of a range of scores
--@arg limit             most threads to choose
--@arg max_open          most cases that one tenant may have open
--@arg max_waiting       most cases that are open for such requests, of all tenants, half of them for one; 0: choose none of them
--@arg share             see TENANT_SHARE in src/contracts/facts/thread.ts
local most_threads, most, part = tonumber(limit), tonumber(max_open), tonumber(share)
local total = redis.call('ZCARD', open)
local waiting_open, chosen, waiting_of = 0, {}, {}
local function is_before(a, b)
  if a.open ~= b.open then return a.open < b.open end
  return a.rank < b.rank
end
local function choose_waiting()
  local names = redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', '(' .. waited_before(), 'LIMIT', 0, 1000)
  local places = { '/waiting' }
  for i, name in ipairs(names) do places[i + 1], waiting_of[name] = name .. '/waiting', true end
  local counts = open_counts(open, total, places)
  waiting_open = tonumber(counts[1] or '0')
  local askers, turns = {}, {}
  for rank, name in ipairs(names) do
    askers[rank] = { due = due .. ':' .. name, open = tonumber(counts[rank + 1] or '0'), rank = rank }
  end
  table.sort(askers, is_before)
  -- Each has a turn: those of tenants that come after as many as are chosen would come after all of theirs.
  for i = 1, math.min(#askers, most_threads) do
    local asker = askers[i]
    local members = redis.call('ZRANGEBYSCORE', asker.due, '-inf', '(' .. waited_before(), 'LIMIT', 0, limit)
    for nth, member in ipairs(members) do
      turns[#turns + 1] = { member = member, open = asker.open + nth - 1, rank = asker.rank }
    end
  end
  table.sort(turns, is_before)
  local places_left = tonumber(max_waiting) - waiting_open
  for _, turn in ipairs(turns) do
    local has_place = turn.open == 0 or (#chosen < places_left and turn.open < max_waiting / 2)
    if has_place and #chosen < most_threads and tonumber(max_waiting) > 0 then chosen[#chosen + 1] = turn.member end
  end
end
choose_waiting()
if #chosen >= most_threads then return chosen end
local left = math.ceil(most + most / part) - (total - waiting_open)
local names = redis.call('ZRANGEBYSCORE', due .. '/tenants', '-inf', until_time, 'LIMIT', 0, 1000)
if #names == 0 then return chosen end
local counts = open_counts(open, total, names)
local tenants = {}
for i, name in ipairs(names) do
  local has_others = not waiting_of[name] or redis.call('ZCOUNT', due .. ':' .. name, waited_before(), until_time) > 0
  if has_others then
    tenants[#tenants + 1] = { due = due .. ':' .. name, open = tonumber(counts[i] or '0'), rank = i, taken = 0 }
  end
end
if #tenants == 0 then return chosen end
table.sort(tenants, is_before)
local considered = math.min(#tenants, most_threads)
local at_a_time = math.ceil(most_threads / considered)
local function next_of(tenant)
  local nth = tenant.taken % at_a_time
  if nth == 0 then
    tenant.members = redis.call('ZRANGEBYSCORE', tenant.due, waited_before(), until_time, 'LIMIT', tenant.taken, at_a_time)
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
