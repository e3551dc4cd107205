-- Marks open cases as unworked if the caller does not work on their protocols: they take no tenant's place. Unmarks those whose
-- protocols it does work on. Returns the ids of the unmarked cases, and of all that are unworked now.
--@include open-counts
--@key open
--@key unworked
--@arg protocols[]       that the caller works on
local worked = {}
for _, protocol in ipairs(protocols) do worked[protocol] = true end
local function is_worked(id) return worked[string.match(id, '^[^~@/]*')] end
local back = {}
for _, id in ipairs(redis.call('ZRANGE', unworked, 0, -1)) do
  if is_worked(id) then
    redis.call('ZADD', open, redis.call('ZSCORE', unworked, id), id)
    redis.call('ZREM', unworked, id)
    count_open_at(open, place_of(id), 1)
    back[#back + 1] = id
  end
end
for _, id in ipairs(redis.call('ZRANGE', open, 0, -1)) do
  if not is_worked(id) then
    redis.call('ZADD', unworked, redis.call('ZSCORE', open, id), id)
    redis.call('ZREM', open, id)
    count_open_at(open, place_of(id), -1)
  end
end
return { back, redis.call('ZRANGE', unworked, 0, -1) }
