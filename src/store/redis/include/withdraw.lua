--@include time
local function last_delivered(outbox, group)
  local groups = redis.pcall('XINFO', 'GROUPS', outbox)
  if groups.err then return '0-0' end
  for _, fields in ipairs(groups) do
    local info = {}
    for i = 1, #fields, 2 do info[fields[i]] = fields[i + 1] end
    if info.name == group then return info['last-delivered-id'] end
  end
  return '0-0'
end
local function parse_entry(entry)
  local ms, number = string.match(entry, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(number)
end
-- Removes a concluded case's verdict from the outbox; true if no publisher ever got it, so that it will never be published. If
-- one did, it is recorded in `erased`: what follows it waits until its publisher is done with it, or dead.
local function withdraw(case, outbox, erased, group, id, protocol, member)
  local entry = redis.call('HGET', case, 'entry')
  if not entry then return false end
  -- It was held back from its publisher (outbox/keep-back.lua).
  if entry == '0-0' then return true end
  local ms, number = parse_entry(entry)
  local last_ms, last_number = parse_entry(last_delivered(outbox, group))
  redis.call('XDEL', outbox, entry)
  if ms > last_ms or (ms == last_ms and number > last_number) then return true end
  redis.call('HSET', erased, entry, cjson.encode({ redis_now(), id, protocol, member }))
  return false
end
