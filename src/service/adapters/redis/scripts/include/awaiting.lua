-- Whether a case of the thread is open, or the thread is parked for a paused protocol (the field `parked:`).
local function is_awaiting(thread)
  for _, field in ipairs(redis.call('HKEYS', thread)) do
    if string.match(field, '^open:') or string.match(field, '^parked:') then return true end
  end
  return false
end
