-- Whether a case of the thread is open, or the thread is dormant for a paused protocol (the field `dormant:`).
local function is_awaiting(thread)
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    if string.match(field, '^open:') or string.match(field, '^dormant:') then return true end
  end
  return false
end
